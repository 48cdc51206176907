"""The range of a topic that a snapshot is limited to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from streamlets.channels.delta.offsets import Offset
from streamlets.storage import objects
from streamlets.storage.damage import damaged

RANGE = "_range.json"
"""The file of a snapshot that limits it to a range."""


@dataclass(frozen=True, slots=True)
class TopicRange:
    """The part of a topic between two offsets.

    Arguments:
        after: the first; None for the beginning of the topic.
        until: the second.
    """

    after: Offset | None
    until: Offset

    def write(self, topic: Path) -> None:
        """Limit the snapshot in a directory to this range.

        Raises:
            OSError: the file cannot be written.
        """
        content = {
            "after": self.after.to_dict() if self.after is not None else None,
            "until": self.until.to_dict(),
        }
        objects.replace(topic / RANGE, json.dumps(content).encode())


def read_range(topic: Path) -> TopicRange | None:
    """Return the range that the snapshot in a directory is limited to; None without one.

    Raises:
        DamagedFileError: the file is damaged.
    """
    data = objects.read(topic / RANGE)
    if data is None:
        return None
    try:
        content = json.loads(data)
        after = Offset.from_dict(content["after"]) if content["after"] is not None else None
        return TopicRange(after, Offset.from_dict(content["until"]))
    except (ValueError, KeyError, TypeError, AssertionError):
        remedy = "delete the backfill that it belongs to, and begin it again"
        raise damaged("the range of a snapshot", topic / RANGE, data, remedy) from None
