"""A base for small channels: an author writes how commits are stored, and has a complete channel.

Queries read topics by scans, and write them with appenders, each batch once. See docs/channels.md.
"""

from streamlets.channels.small.channel import SmallChannel
from streamlets.channels.small.commits import Commit, Content, WriterState
from streamlets.channels.small.purging import RETENTION, PurgingTopic
from streamlets.channels.small.topic import SmallTopic

__all__ = ["RETENTION", "Commit", "Content", "PurgingTopic", "SmallChannel", "SmallTopic", "WriterState"]
