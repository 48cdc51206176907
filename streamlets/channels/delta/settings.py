"""The settings of topics on the delta channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.quantities import Duration, MemorySize
from blueprint.setting import Scope, Setting
from blueprint.setting_types import BOOLEAN, DURATION, SIZE, choice

TIME = Setting(
    "retention.time", DURATION, "How long records are kept at least; for ever if not set.", scope=Scope.TOPIC
)
MAX_SIZE = Setting(
    "retention.size", SIZE, "The size above which the oldest records are deleted.", scope=Scope.TOPIC
)  # fmt: skip
KEEP_UNREAD = Setting(
    "retention.keep-unread", BOOLEAN, "Whether records are kept until all readers have read them.", "true",
    scope=Scope.TOPIC,
)  # fmt: skip

READER = Setting(
    "reader", choice("auto", "python"),
    "What reads the records: Spark's own Parquet reader where it can (`auto`), or Python workers (`python`).", "auto",
    scope=Scope.TOPIC,
)  # fmt: skip

SETTINGS = (TIME, MAX_SIZE, KEEP_UNREAD, READER)


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention of the records of a topic.

    Arguments:
        time: the age after which records may be deleted; None means never.
        size: the size of the topic above which the oldest records may be deleted; None means no limit.
        keep_unread: whether records are kept until every known reader has committed them.
    """

    time: Duration | None
    size: MemorySize | None
    keep_unread: bool

    @property
    def limited(self) -> bool:
        """Return whether records may ever be deleted."""
        return self.time is not None or self.size is not None


def retention_of(options: Mapping[str, object]) -> Retention:
    """Return the retention that the options of a topic set."""
    return Retention(TIME.of(options), MAX_SIZE.of(options), KEEP_UNREAD.of(options))
