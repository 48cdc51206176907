"""Reading a backlog in batches: no row is late that is not late when the topic is read commit by commit."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.compaction import joined
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.segments import Segment, Segments
from streamlets.channels.delta.table import Table

Record = tuple[str, int, int]
"""Table, version, and number within the version."""


@dataclass
class Backlog:
    """A topic in memory.

    Arguments:
        log: the log of a reader.
        times: the event time of each record, in an order in which a reader may see them.
        commits: the records of each commit, oldest commit first.
    """

    log: TopicLog
    times: dict[Record, int] = field(default_factory=dict)
    commits: list[list[Record]] = field(default_factory=list)

    def pieces(self, start: Offset, limits: Iterable[int]) -> Iterator[list[Record]]:
        """Yield the records of each batch of a reader from `start` to the end."""
        end = self.log.end()
        for limit in limits:
            until = start.joined(self.log.advance(start, limit, end))
            if until == start:
                return
            yield [
                (piece.table, piece.version, number)
                for piece in self.log.slices(start, until)
                for number in range(piece.first, piece.first + piece.count)
            ]
            start = until


@st.composite
def backlogs(draw: st.DrawFn, disorder: int, commits: int = 6) -> Backlog:
    """Generate topics whose event times are at most `disorder` before those of earlier commits.

    They have several tables, commits of several files with event times in any order, versions without records, and
    merged files.
    """
    log = TopicLog(Path("topic"), id="topic")
    backlog = Backlog(log)
    files: dict[str, list[list[DataFile]]] = {}
    latest = clock = 0
    name = ""
    for _ in range(draw(st.integers(1, commits))):
        before, name = name, draw(st.sampled_from("ab"))
        clock += draw(st.integers(int(name != before), 1))  # commits of two tables at the same time have no order
        table = log.tables.setdefault(name, Table(Path("topic", name), name, "{}", (), files={}))
        table.version += draw(st.integers(1, 2))
        spread = draw(st.integers(0, 8))
        rows = draw(st.lists(st.integers(latest - disorder, latest + spread), min_size=1, max_size=9))
        records = [(name, table.version, number) for number in range(len(rows))]
        backlog.times.update(zip(records, rows, strict=True))
        backlog.commits.append(records)
        latest = max(latest, *rows)
        cuts = draw(st.sets(st.integers(1, len(rows)), max_size=2)) | {0, len(rows)}
        for partition, (first, after) in enumerate(itertools.pairwise(sorted(cuts))):
            segment = Segment(table.version, first, after - first, clock)
            file = DataFile(f"{table.version}-{partition}", 1, (after - first,), {}, Segments.of([segment]))
            merge = draw(st.booleans())
            runs = files.setdefault(f"{name}{partition}", [])
            if merge and runs:
                runs[-1].append(file)
            else:
                runs.append([file])
        table.end, table.time = table.version + 1, clock
    for key, partition_runs in files.items():
        table = log.tables[key[0]]
        for run in partition_runs:
            segments = Segments.of(joined(segment for file in run for segment in file.segments))
            merged = DataFile(f"{key}-{run[0].path}", 1, (sum(file.records for file in run),), {}, segments)
            assert table.files is not None
            table.files[merged.path] = merged
    for table in log.tables.values():
        assert table.files is not None
        table.files = {file.path: file for file in sorted(table.files.values(), key=lambda f: f.segments.last.place)}
    return backlog


def kept(inlets: list[Backlog], batches: list[list[list[Record]]], delay: int) -> set[tuple[int, Record]]:
    """Return the rows that are not late in a query with a watermark for each inlet and Spark's policy `min`.

    Arguments:
        inlets: the backlog of each inlet.
        batches: the records of each batch, by inlet.
        delay: the delay of the watermarks.
    """
    latest: list[float] = [float("-inf")] * len(inlets)
    rows = set()
    for batch in batches:
        watermark = min(latest) - delay
        for number, records in enumerate(batch):
            times = inlets[number].times
            rows |= {(number, record) for record in records if times[record] >= watermark}
            latest[number] = max([latest[number], *(times[record] for record in records)])
    return rows


def together(*inlets: Iterable[list[Record]]) -> list[list[list[Record]]]:
    """Return the batches of a query with several inlets, each of which is read until its end."""
    return [list(batch) for batch in itertools.zip_longest(*inlets, fillvalue=[])]


LIMITS = st.lists(st.integers(1, 30), min_size=1).map(itertools.cycle)


@given(st.data(), st.integers(0, 6), st.integers(0, 12))
def test_batches_drop_no_more_rows_than_commits(data: st.DataObject, disorder: int, delay: int) -> None:
    """With any limits, and also with a delay that is too short, a row that is not late for a reader of single commits
    is not late for a reader of batches, and every row is read once."""
    backlog = data.draw(backlogs(disorder))
    pieces = list(backlog.pieces(Offset("topic"), data.draw(LIMITS)))
    assert sorted(itertools.chain(*pieces)) == sorted(backlog.times)
    by_commit = kept([backlog], together(backlog.commits), delay)
    assert by_commit <= kept([backlog], together(pieces), delay)
    if delay >= disorder:
        assert len(by_commit) == len(backlog.times)


@given(st.data(), st.integers(0, 6), st.integers(0, 6))
def test_a_small_inlet_makes_no_row_of_a_large_one_late(data: st.DataObject, disorder: int, more: int) -> None:
    """With two backlogs of different sizes and a delay as long as the disorder, no row is late."""
    inlets = [data.draw(backlogs(disorder, commits=8)), data.draw(backlogs(disorder, commits=1))]
    pieces = [list(backlog.pieces(Offset("topic"), data.draw(LIMITS))) for backlog in inlets]
    everything = {(number, record) for number, backlog in enumerate(inlets) for record in backlog.times}
    assert kept(inlets, together(*pieces), disorder + more) == everything


@given(st.data(), st.integers(1, 12))
def test_a_batch_has_as_many_whole_commits_as_fit(data: st.DataObject, limit: int) -> None:
    """A batch ends with a commit. It has one commit, or as many as fit into the limit."""
    backlog = data.draw(backlogs(3))
    sizes = {records[0][:2]: len(records) for records in backlog.commits}
    pieces = [[len(list(rows)) for _, rows in itertools.groupby(piece, lambda record: record[:2])]
              for piece in backlog.pieces(Offset("topic"), itertools.repeat(limit))]  # fmt: skip
    assert sorted(itertools.chain(*pieces)) == sorted(sizes.values())
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        assert len(piece) == 1 or sum(piece) <= limit
        assert following is None or sum(piece) + following[0] > limit


@given(st.data())
def test_an_offset_within_a_commit_can_be_continued(data: st.DataObject) -> None:
    """Offsets of earlier versions may be within a commit: their next batch has at least the rest of this commit."""
    backlog = data.draw(backlogs(3))
    table, version, number = data.draw(st.sampled_from(sorted(backlog.times)))
    start = Offset("topic", {table: (table, Place(version, number))})
    pieces = list(backlog.pieces(start, data.draw(LIMITS)))
    unread = [record for record in backlog.times if record[0] != table or record[1:] >= (version, number)]
    assert sorted(itertools.chain(*pieces)) == sorted(unread)
    (rest,) = (piece for piece in pieces if (table, version, number) in piece)
    assert {record for record in unread if record[:2] == (table, version)} <= set(rest)
