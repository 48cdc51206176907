"""Reading a topic with Spark's own Parquet reader: which records it can read, and the plan of its batches.

Spark reads columns by their names. That is enough for records that were written with the reader's schema, and if the
reader only omits fields, or has further optional ones. All others are converted in Python (`source.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.delta.inspection import contracts
from streamlets.channels.delta.integrity import commit_path
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.planning import Reading, TopicPlanner
from streamlets.channels.delta.records import adjacent, damaged_run, records_of, require_file
from streamlets.contract.resolve import is_read_by_name
from streamlets.planned.planners import Offset, Stretch, Watch

if TYPE_CHECKING:
    from streamlets.channels.delta.log import Slice

KIND = "delta"
"""The kind of planned streams."""

_MILLISECOND = 1_000_000


class OtherReaderError(Exception):
    """New records need the reader in Python, which the next start of the query uses."""


def can_read(reading: Reading) -> bool:
    """Return whether Spark can read all records of a topic itself."""
    if reading.metadata:
        return False
    reader = parse_contract(reading.contract)
    return all(is_read_by_name(writer, reader) for writer in (reader, *contracts(Path(reading.topic))))


class NativePlanner:
    """Plans batches that Spark reads itself; see `BatchPlanner`.

    Arguments:
        options: the options of the reader, as `Reading.to_json` returned them.
    """

    def __init__(self, options: str) -> None:
        self._planner = TopicPlanner(Reading.from_json(options))
        self._contract = parse_contract(self._planner.reading.contract)
        self._readable = {self._contract.json}

    def limit(self) -> int:
        """Return the limit of the inlet."""
        return self._planner.reading.max_records

    def initial(self) -> Offset:
        """Return the offset at which a new checkpoint begins."""
        return self._planner.initial()

    def latest(self, start: Offset, *, all: bool) -> tuple[Offset, Watch | None]:
        """Return the end of the next batch, and if there is none, the files that would show one."""
        end = self._planner.end_of_batch(start, 0 if all else self.limit())
        log = self._planner.log()
        return end, watch_of(log) if end == start and log is not None else None

    def known(self) -> Offset | None:
        """Return the last known end of the topic."""
        return self._planner.known()

    def bound(self) -> None:
        """Make the current end of the topic the end of a bounded run."""
        self._planner.bound()

    def plan(self, start: Offset, end: Offset) -> list[list[Stretch]]:
        """Return the tasks of a batch.

        Raises:
            OtherReaderError: the records of a new table must be converted in Python.
            TopicDamagedError: a file is missing, or has another size.
        """
        return [[self._stretch(run) for run in adjacent(part)] for part in self._planner.parts(start, end)]

    def _stretch(self, run: list[Slice]) -> Stretch:
        piece = run[0]
        self._require_readable(piece.contract)
        require_file(run)
        return Stretch(piece.path, piece.size, piece.row, records_of(run), str(damaged_run(run, "{}")))

    def _require_readable(self, contract: str) -> None:
        if contract in self._readable:
            return
        writer = parse_contract(contract)
        if not is_read_by_name(writer, self._contract):
            raise OtherReaderError(
                f"the topic `{Path(self._planner.reading.topic).name}` has new records with the schema "
                f"{writer.fingerprint}, which are converted in Python from the next start on"
            )
        self._readable.add(contract)


def watch_of(log: TopicLog) -> Watch | None:
    """Return the files that show whether a topic has new commits or tables; None if they do not show it yet."""
    if log.directory is None:
        return None
    awaited = tuple(str(commit_path(table.path, table.version + 1)) for table in log.tables.values())
    return Watch(awaited, str(log.path), log.directory[2] // _MILLISECOND)
