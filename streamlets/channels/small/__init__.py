"""A base for small channels: queries read topics by scans, and write them with appenders, each batch once."""

from streamlets.channels.small.batch import query_writers
from streamlets.channels.small.channel import SmallChannel
from streamlets.channels.small.topic import SmallTopic

__all__ = ["SmallChannel", "SmallTopic", "query_writers"]
