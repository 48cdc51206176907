"""Late rows are reported, but not with every batch."""

from __future__ import annotations

from streamlets.runner.events.event import Event, json_text
from streamlets.runner.events.late import EVERY, LateRows
from streamlets.runner.events.record_events import RecordsLate, RowsLate
from streamlets.runner.events.run_events import RunEnded
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed

ONE, OTHER = UnitId("delays", "out"), UnitId("board", "out")


def reported(*events: Event) -> list[RowsLate]:
    """Return the reports of late rows for some events."""
    late = LateRows()
    return [report for event in events for report in late.reports(event)]


def batch(time: float, unit: UnitId, late: int, watermark: str | None = None) -> UnitProgressed:
    """Return a batch that dropped rows."""
    return UnitProgressed(time, unit, 0, 10, late=late, watermark=watermark)


def test_the_first_late_rows_are_reported_at_once_and_then_once_in_a_while() -> None:
    """Each unit has its own interval; a later report has the sum of all batches, including those in between."""
    assert reported(
        batch(0.0, ONE, 0), batch(1.0, ONE, 2, "2026-01-01"), batch(2.0, ONE, 5), batch(3.0, OTHER, 1),
        batch(EVERY, ONE, 1), batch(1.0 + EVERY, ONE, 4), batch(2.0 + EVERY, ONE, 1), batch(3.0 * EVERY, ONE, 0),
    ) == [RowsLate(1.0, ONE, 2, "2026-01-01"), RowsLate(3.0, OTHER, 1), RowsLate(1.0 + EVERY, ONE, 12)]  # fmt: skip


def test_the_sums_are_reported_at_the_end() -> None:
    """Every unit with late rows is reported before the end of a run, including rows after its last report."""
    end = RunEnded(9.0, 0)
    assert reported(batch(1.0, ONE, 2), batch(2.0, ONE, 5), batch(3.0, OTHER, 0), end)[1:] == [RowsLate(9.0, ONE, 7)]
    assert reported(batch(3.0, OTHER, 0), end) == []


def test_a_report_has_the_watermark_and_how_rows_are_counted() -> None:
    """It is a warning in the log."""
    event = RowsLate(1.0, ONE, 1200, "2026-01-01T00:00:00.000Z")
    assert event.line == (
        "delays.out: the watermark 2026-01-01T00:00:00.000Z dropped at least 1,200 late rows since the start "
        "(Spark counts them after partial aggregation)"
    )
    assert (event.level, event.data()["event"]) == ("warning", "rows-late")
    assert '"streamlet":"delays","query":"out","time":1.0,"rows":1200' in json_text(event.data())


def deduplication(batch: int, records: int, inlet: str = "rows") -> RecordsLate:
    """Return the event of records that deduplication has dropped."""
    return RecordsLate(
        time=1.0, unit=ONE, batch=batch, inlet=inlet, records=records, watermark="2026-01-01T00:00:00.000Z"
    )


def test_what_deduplication_drops_is_reported_with_each_batch_only() -> None:
    """The sums have the other late rows of the query."""
    end = RunEnded(9.0, 0)
    assert reported(deduplication(3, 4), batch(1.0, ONE, 4), batch(2.0, ONE, 0), end) == []
    both = reported(deduplication(3, 4), batch(1.0, ONE, 6), deduplication(4, 1), batch(2.0, ONE, 1), end)
    assert both == [RowsLate(1.0, ONE, 2), RowsLate(9.0, ONE, 2)]


def test_a_report_of_deduplication_has_the_batch_and_the_inlet() -> None:
    """It is a warning in the log. The inlet is omitted if it is not known."""
    assert deduplication(3, 1200).line == (
        "delays.out: batch 3: deduplication at the inlet `rows` dropped 1,200 late records (watermark "
        "2026-01-01T00:00:00.000Z); records other than doubles are lost: set `deduplicate.within` to at least the time "
        "by which partitions of the topic may lag behind each other"
    )
    assert "batch 3: deduplication dropped 1 late record (" in deduplication(3, 1, inlet="").line
    assert (deduplication(3, 4).level, deduplication(3, 4).data()["event"]) == ("warning", "records-late")
