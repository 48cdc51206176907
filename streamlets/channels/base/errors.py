"""Errors that channels raise."""

from __future__ import annotations

from streamlets.storage.damage import DamagedFileError


class ChannelUnavailableError(OSError):
    """What stores the topics of a channel does not answer, or refuses a request. A repetition may succeed."""

    help = ""
    """What to do, in the imperative."""


class TopicLostError(Exception):
    """The topic does not exist, or it was deleted and created again after the reader's position was recorded."""

    help = ""
    """What to do, in the imperative."""


class UnknownConnectionError(ValueError):
    """Neither the settings nor what the channel has stored say which servers have the topic."""


class TopicDamagedError(DamagedFileError):
    """Files of a topic are missing, incomplete or from elsewhere."""


class TopicWriteError(Exception):
    """Records could not be stored, for example on a full disk.

    The write can be repeated with the same sequence: it stores nothing twice, if it was published after all.
    """


class RecordTooLargeError(TopicWriteError):
    """A record is larger than its topic allows."""


class WriterFencedError(Exception):
    """The writer has been opened again with a higher epoch. No record of the write was published."""


class BatchMismatchError(Exception):
    """A topic has another batch under the number of one that is to be written. Nothing of it was published."""


class BrokenRowsError(Exception):
    """Rows break the contract of an outlet that does not allow it; the message has their number and an example."""
