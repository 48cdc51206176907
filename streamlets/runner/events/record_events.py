"""Events of records and rows that a unit has not processed: late, missed, or still in state."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.wording import counted
from streamlets.runner.events.event import Event, Importance, UnitEvent


@dataclass(frozen=True, slots=True)
class RowsInState(UnitEvent):
    """Rows remain in the state of an operator when a bounded run or a finite pipeline has ended.

    Arguments:
        operator: the operator, such as `aggregation` or `join (left side)`.
        rows: the number of rows in its state (of groups, for an aggregation).
        note: what they wait for, if known.
    """

    usually = Importance.NOTICE

    operator: str
    rows: int
    note: str = ""

    @property
    def line(self) -> str:
        remain = "remains" if self.rows == 1 else "remain"
        note = f" ({self.note})" if self.note else ""
        return f"{self.unit}: {counted(self.rows, 'row')} {remain} in state: {self.operator}{note}"


@dataclass(frozen=True, slots=True)
class RowsLate(UnitEvent):
    """A unit's watermark has dropped rows, without the records of `RecordsLate`.

    It is reported once in a while, and for the last time when the run ends.

    Arguments:
        rows: the number of rows since the run started, at least. Spark counts what reaches the stateful operators,
            which are groups and not rows where an aggregation has summed up the rows of each task before.
        watermark: ISO time, if known.
    """

    usually = Importance.WARNING

    rows: int
    watermark: str | None = None

    @property
    def line(self) -> str:
        passed = f" {self.watermark}" if self.watermark else ""
        dropped = f"{self.unit}: the watermark{passed} dropped at least {counted(self.rows, 'late row')}"
        return f"{dropped} since the start (Spark counts them after partial aggregation)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsLate(UnitEvent):
    """The deduplication of an inlet has dropped late records of a batch; reported before the batch.

    Arguments:
        inlet: the inlet; "" if the query has several deduplications.
        records: the number of records, of which some may be doubles of records that were read.
        watermark: ISO time; the records are older.
    """

    usually = Importance.WARNING

    batch: int
    inlet: str
    records: int
    watermark: str

    @property
    def line(self) -> str:
        where = f"at the inlet `{self.inlet}` " if self.inlet else ""
        late = counted(self.records, "late record")
        return (
            f"{self.unit}: batch {self.batch}: deduplication {where}dropped {late} (watermark {self.watermark}); "
            "records other than doubles are lost: set `deduplicate.within` to at least the time by which partitions of "
            "the topic may lag behind each other"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsMissed(Event):
    """Records of a topic were dropped by a forced deletion before a reader had committed them.

    Arguments:
        topic: the name of the topic.
        reader: the reader that missed them, such as `average.averages (readings)`.
        first, last: the places of the first and the last record, as in `_meta`.
        records: the number of records.
        cause: what dropped them.
    """

    usually = Importance.ERROR

    topic: str
    reader: str
    first: str
    last: str
    records: int
    cause: str

    @property
    def line(self) -> str:
        return (
            f"{self.reader}: missed {counted(self.records, 'record')} of the topic {self.topic}, from {self.first} to "
            f"{self.last}, dropped by {self.cause} before they were committed"
        )
