"""The interface of a channel, which stores the topics of an application.

An author of a channel subclasses `ChannelType`, `Channel` and `TopicResource`; the runner, the testkit and the commands
use them. What is abstract, every channel has; the traits of a channel say which of the optional methods it overrides.
`streamlets.channels.registry` shows how a package registers its channel.
"""

from streamlets.channels.base.appender import Appender
from streamlets.channels.base.channel import Channel
from streamlets.channels.base.contents import (
    METADATA,
    METADATA_DDL,
    Difference,
    InvalidRecord,
    Stretch,
    TopicSummary,
    WriterSummary,
    WrittenBatch,
)
from streamlets.channels.base.errors import (
    BatchMismatchError,
    BrokenRowsError,
    ChannelUnavailableError,
    RecordTooLargeError,
    TopicDamagedError,
    TopicLostError,
    TopicWriteError,
    UnknownConnectionError,
    WriterFencedError,
)
from streamlets.channels.base.queries import Branch, TopicQuery
from streamlets.channels.base.readers import Dropped, Lag, Missed, Position, Reader
from streamlets.channels.base.topic import TopicResource

__all__ = [
    "METADATA",
    "METADATA_DDL",
    "Appender",
    "BatchMismatchError",
    "Branch",
    "BrokenRowsError",
    "Channel",
    "ChannelUnavailableError",
    "Difference",
    "Dropped",
    "InvalidRecord",
    "Lag",
    "Missed",
    "Position",
    "Reader",
    "RecordTooLargeError",
    "Stretch",
    "TopicDamagedError",
    "TopicLostError",
    "TopicQuery",
    "TopicResource",
    "TopicSummary",
    "TopicWriteError",
    "UnknownConnectionError",
    "WriterFencedError",
    "WriterSummary",
    "WrittenBatch",
]
