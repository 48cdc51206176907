"""Comparing records of two sources: which are only in one of them, and which differ.

The records are sorted in a temporary SQLite database on disk, so that the memory does not depend on their number.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract
from streamlets.datasets.json_rows import comparable_row

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class DifferentRecord:
    """A record that is not the same on both sides.

    Arguments:
        left: the record on the left, as JSON values; None if it is not there.
        right: the record on the right; None if it is not there.
        key: the values of the columns that identify it.
    """

    left: Mapping[str, Any] | None
    right: Mapping[str, Any] | None
    key: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The result of a comparison.

    Arguments:
        left: the number of records on the left.
        right: the number of records on the right.
        equal: the number of records that are the same on both sides.
        different: the number of records with the same key and other values.
        only_left: the number of records that are only on the left. One that is there twice, and once on the right,
            counts here, too.
        only_right: the number of records that are only on the right.
        first: the first records that are not the same, sorted by key.
    """

    left: int
    right: int
    equal: int
    different: int
    only_left: int
    only_right: int
    first: tuple[DifferentRecord, ...]

    @property
    def same(self) -> bool:
        """Whether both sides have the same records, each as often."""
        return not (self.different or self.only_left or self.only_right)


def compare(
    left: Iterable[Mapping[str, Any]],
    right: Iterable[Mapping[str, Any]],
    contract: Contract,
    *,
    by: Sequence[str] = (),
    ignored: Sequence[str] = (),
    limit: int = 10,
    report: Callable[[int], None] = lambda read: None,
) -> Difference:
    """Compare records of two sources. Their order does not matter, how often they are there does.

    Arguments:
        left: the records on one side, as values of the contract.
        right: the records on the other side.
        contract: the contract of both.
        by: the columns that identify a record: records with the same key are compared value by value. Without them, a
            record with another value is another record.
        ignored: columns whose values do not matter.
        limit: the number of records in the result that are not the same.
        report: called with the number of records read so far.

    Raises:
        OSError: the temporary directory has no space.
    """
    names = [field.name for field in contract.record.fields if field.name not in ignored]
    of = comparable_row(contract)

    def stored() -> Iterator[tuple[str, str, int]]:
        for side, rows in enumerate((left, right)):
            for row in rows:
                values = of(row)
                key = _text([values[name] for name in by]) if by else ""
                yield key, _text([values[name] for name in names]), side

    with (
        tempfile.TemporaryDirectory(prefix="flow-diff-") as directory,
        closing(sqlite3.connect(Path(directory) / "records.db", isolation_level=None)) as database,
    ):
        try:
            return _difference(_counted(database, stored(), report), names, by, limit)
        except sqlite3.OperationalError as error:
            raise OSError(f"they cannot be sorted in {directory}: {error}") from None


_Count = tuple[str, str, int, int]
"""A key, values, and how often they are on the left and on the right."""


def _counted(
    database: sqlite3.Connection, rows: Iterator[tuple[str, str, int]], report: Callable[[int], None]
) -> Iterator[_Count]:
    """Yield the different rows, sorted by key."""
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA temp_store = FILE")
    database.execute("CREATE TABLE records (key TEXT, value TEXT, side INTEGER)")
    read = 0
    while part := list(islice(rows, _ROWS_AT_ONCE)):
        database.execute("BEGIN")
        database.executemany("INSERT INTO records VALUES (?, ?, ?)", part)
        database.execute("COMMIT")
        read += len(part)
        report(read)
    yield from database.execute(
        "SELECT key, value, sum(side = 0), sum(side = 1) FROM records GROUP BY key, value ORDER BY key, value"
    )


def _difference(counted: Iterable[_Count], names: Sequence[str], by: Sequence[str], limit: int) -> Difference:
    left = right = equal = different = only_left = only_right = 0
    first: list[DifferentRecord] = []
    for key, group in groupby(counted, key=lambda row: row[0] if by else row[1]):
        surplus = _Surplus([], [])
        for _, value, on_left, on_right in group:
            left, right, equal = left + on_left, right + on_right, equal + min(on_left, on_right)
            surplus.add(value, on_left - on_right, limit)
        pairs = min(surplus.on_left, surplus.on_right)
        different += pairs
        only_left += surplus.on_left - pairs
        only_right += surplus.on_right - pairs
        values = dict(zip(by, json.loads(key), strict=True)) if by else {}
        for mine, theirs in islice(zip_longest(surplus.left, surplus.right), limit - len(first)):
            first.append(DifferentRecord(_row(names, mine), _row(names, theirs), values))
    return Difference(
        left=left, right=right, equal=equal, different=different, only_left=only_left, only_right=only_right,
        first=tuple(first),
    )  # fmt: skip


@dataclass(slots=True)
class _Surplus:
    """The records with one key that one side has more often than the other: the first of them, and their numbers."""

    left: list[str]
    right: list[str]
    on_left: int = 0
    on_right: int = 0

    def add(self, value: str, difference: int, limit: int) -> None:
        """Add a record that the left has so many times more often than the right, or less often if it is negative."""
        kept = self.left if difference > 0 else self.right
        kept += [value] * min(abs(difference), limit - len(kept))
        self.on_left += max(0, difference)
        self.on_right += max(0, -difference)


def _row(names: Sequence[str], text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else dict(zip(names, json.loads(text), strict=True))


def _text(values: Sequence[Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))
