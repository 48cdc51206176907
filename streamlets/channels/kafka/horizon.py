"""`Horizon`: which schemas an inlet with dead letters knows, and from where on a message may name a newer one.

A writer publishes its schema before its first message. So a message that existed when the schemas were read, and names
none of them, is a dead letter. A later message may name a schema that was published meanwhile: the query fails, reads
the schemas again at its restart, and decides then.

Whether a message is a record depends on its header and its offset only, and a later horizon never changes what an
earlier one has decided. So a batch that is replayed after a kill leads to the same records and the same dead letters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamlets.storage import objects
from streamlets.storage.damage import read_whole

MOST_UNKNOWN = 1000
"""The number of unknown headers that are kept; messages with others make the query read the schemas again."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """The schemas that an inlet knows. Headers are the first bytes of messages, in hexadecimal digits.

    Arguments:
        known: for each header of a known schema, the offset of each partition from which it is known; nothing for all
            offsets.
        unknown: headers of dead letters. Messages with them are dead letters everywhere.
        ends: the ends of the partitions before the schemas were read: earlier messages with other headers are dead
            letters.
    """

    known: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    ends: Mapping[int, int] = field(default_factory=dict)

    def advanced(self, headers: Iterable[str], ends: Mapping[int, int]) -> Horizon:
        """Return the horizon after the schemas were read again.

        Arguments:
            headers: the headers of all schemas.
            ends: the ends of the partitions before they were read.
        """
        known: dict[str, Mapping[int, int]] = {}
        for header in headers:
            if header in self.known:
                known[header] = self.known[header]
            else:
                known[header] = dict(ends if header in self.unknown else self.ends)
        return Horizon(known, self.unknown - set(known), dict(ends))

    def with_unknown(self, headers: Iterable[str]) -> Horizon:
        """Return the horizon with further headers of dead letters, as many as are kept."""
        new = sorted(set(headers) - self.unknown - set(self.known))[: max(0, MOST_UNKNOWN - len(self.unknown))]
        return Horizon(self.known, self.unknown | set(new), self.ends)


@dataclass(frozen=True, slots=True)
class StoredHorizon:
    """The file of an inlet's horizon.

    Arguments:
        path: the file.
        topic_id: the id of the topic; the horizon of an earlier topic with its name means nothing.
    """

    path: Path
    topic_id: str

    def read(self) -> Horizon:
        """Return the stored horizon; an empty one if there is none.

        Raises:
            DamagedFileError: the file is damaged.
        """
        what = "the list of the schemas that an inlet knows"
        remedy = "delete it: if the last batch is repeated, a dead letter of it may become a record"
        return read_whole(self.path, self._parsed, what, remedy) or Horizon()

    def write(self, horizon: Horizon) -> None:
        """Replace the stored horizon."""
        content = {
            "topic": self.topic_id,
            "known": horizon.known,
            "unknown": sorted(horizon.unknown),
            "ends": horizon.ends,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        objects.replace(self.path, json.dumps(content).encode())

    def _parsed(self, data: bytes) -> Horizon:
        content = json.loads(data)
        if content["topic"] != self.topic_id:
            return Horizon()
        return Horizon(
            {header: _offsets(since) for header, since in content["known"].items()},
            frozenset(content["unknown"]),
            _offsets(content["ends"]),
        )


def _offsets(content: Mapping[str, int]) -> dict[int, int]:
    return {int(partition): at for partition, at in content.items()}
