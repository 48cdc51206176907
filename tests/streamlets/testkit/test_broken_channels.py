"""The suite for channels finds each rule of docs/channels.md that a channel breaks; one without a fault passes."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from streamlets.channels.small import Commit, Content, WriterState
from streamlets.override import override
from streamlets.testkit.channels import ChannelBench
from streamlets.testkit.channels.topics import TopicTests
from streamlets.testkit.channels.traits import TraitTests
from streamlets.testkit.channels.writers import WriterTests
from tests.installed import install
from tests.streamlets.testkit.ledger import LedgerChannelType, LedgerTopic

PROJECT = """
[project]
name = "ledger"
version = "1.0"

[project.entry-points."streamlets.channels"]
ledger = "tests.streamlets.testkit.ledger:LedgerChannelType"
"""


WINDOW = 0.05
"""How long a step takes that must not be interrupted, so that it is."""


class TestLedger(TopicTests, WriterTests, TraitTests):
    """The channel that the others break, without queries."""

    channel = LedgerChannelType()

    @pytest.fixture
    def channel_bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> ChannelBench:
        """Return the channel in a new directory."""
        return ChannelBench(self.channel, tmp_path, request)

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install the package."""
        project = tmp_path / "project"
        project.mkdir()
        (project / "pyproject.toml").write_text(PROJECT)
        install(project, tmp_path / "installed", monkeypatch)


class Unasked(LedgerTopic):
    """`publish` does not call `admits`."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            self.add(file, **self.of_writer(writer, state), **self.of_content(content))
            return True


class OnlyTheSame(LedgerTopic):
    """`publish` refuses the last sequence, but no earlier one."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            if self.state(writer).claimed(writer, state.epoch).sequence == state.sequence:
                return False
            self.add(file, **self.of_writer(writer, state), **self.of_content(content))
            return True


class OldEpochs(LedgerTopic):
    """`publish` looks at the sequence only."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            if self.state(writer).sequence >= state.sequence:
                return False
            self.add(file, **self.of_writer(writer, state), **self.of_content(content))
            return True


class AsksLater(LedgerTopic):
    """`publish` stores the records before it asks whether it may."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            stored = self.state(writer)
            self.add(file, **self.of_writer(writer, replace(state, epoch=stored.epoch)), **self.of_content(content))
            return stored.admits(writer, state)


class WithoutState(LedgerTopic):
    """`publish` stores the records only."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            if not self.state(writer).admits(writer, state):
                return False
            self.add(file, **self.of_content(content))
            return True


class UnclaimedEpochs(LedgerTopic):
    """`claim` does not store the epoch."""

    @override
    def claim(self, writer: str, epoch: int) -> WriterState:
        return self.state(writer).claimed(writer, epoch)


class LowerEpochs(LedgerTopic):
    """`claim` accepts a lower epoch."""

    @override
    def claim(self, writer: str, epoch: int) -> WriterState:
        with self.locked() as file:
            claimed = replace(self.state(writer), epoch=epoch)
            self.add(file, **self.of_writer(writer, claimed))
            return claimed


class Unlocked(LedgerTopic):
    """Nothing excludes other writers."""

    @override
    @contextmanager
    def locked(self) -> Iterator[BinaryIO]:
        with self.file_of_writer() as file:
            yield file

    @contextmanager
    def file_of_writer(self) -> Iterator[BinaryIO]:
        """Open the file for a transaction."""
        with self.opened() as file:
            file.seek(file.read().rfind(b"\n") + 1)
            yield file

    @override
    def add(self, file: BinaryIO, **parts: Any) -> None:
        time.sleep(WINDOW)
        super().add(file, **parts)


LOCK = threading.Lock()


class LockedThreads(Unlocked):
    """The lock excludes other threads, but not other processes."""

    @override
    @contextmanager
    def locked(self) -> Iterator[BinaryIO]:
        with LOCK, self.file_of_writer() as file:
            yield file


class ReadBefore(LedgerTopic):
    """The state of the writer is read before the transaction begins."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        admitted = self.state(writer).admits(writer, state)
        time.sleep(WINDOW)
        if admitted:
            with self.locked() as file:
                self.add(file, **self.of_writer(writer, state), **self.of_content(content))
        return admitted


class InHalves(LedgerTopic):
    """A commit is visible before it is complete."""

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            if not self.state(writer).admits(writer, state):
                return False
            self.add(file, **self.of_writer(writer, state), **self.of_content(half(content, 0)))
            time.sleep(WINDOW)
            self.add(file, **self.of_writer(writer, state), **self.of_content(half(content, 1)))
            return True


def half(content: Content, number: int) -> Content:
    """Return one of the two records of a content."""
    import pyarrow as pa

    table = pa.ipc.open_stream(content.data).read_all().slice(number, 1)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Content(content.contract, sink.getvalue().to_pybytes(), table.num_rows)


STATES: dict[tuple[str, str], WriterState] = {}


class InMemory(LedgerTopic):
    """The state of writers is in the memory of the process."""

    @override
    def state(self, writer: str) -> WriterState:
        return STATES.get((self.id, writer), WriterState())

    @override
    def of_writer(self, writer: str, state: WriterState) -> dict[str, Any]:
        STATES[self.id, writer] = state
        return super().of_writer(writer, state)


class OneWriter(LedgerTopic):
    """All writers have one state."""

    @override
    def state(self, writer: str) -> WriterState:
        return super().state("any")

    @override
    def of_writer(self, writer: str, state: WriterState) -> dict[str, Any]:
        return super().of_writer("any", state)


class WithoutMarkers(LedgerTopic):
    """Markers are not stored."""

    @override
    def of_writer(self, writer: str, state: WriterState) -> dict[str, Any]:
        return super().of_writer(writer, replace(state, marker=None))


class EmptyMarkers(LedgerTopic):
    """An empty marker is stored as a missing one."""

    @override
    def of_writer(self, writer: str, state: WriterState) -> dict[str, Any]:
        return super().of_writer(writer, replace(state, marker=state.marker or None))


class NamedIds(LedgerTopic):
    """The id is the name, which a later topic has, too."""

    @property
    @override
    def id(self) -> str:
        return f"{super().id and self.plan.name}"


class MadeAgain(LedgerTopic):
    """`make` begins again."""

    @override
    def make(self) -> None:
        self.file.unlink(missing_ok=True)
        super().make()


class MadeTwice(LedgerTopic):
    """Two processes that create the topic at the same time each create one."""

    @override
    def make(self) -> None:
        if not self.file.exists():
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            try:
                self.directory.with_suffix(".first").mkdir()
                time.sleep(0.5)
            except FileExistsError:
                time.sleep(1.5)
            shutil.rmtree(self.directory, ignore_errors=True)
            super().make()


class AfterIncluded(LedgerTopic):
    """`commits` yields the commit `after`, too."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        return super().commits(max(0, after - 1), until)


class UntilExcluded(LedgerTopic):
    """`commits` does not yield the commit `until`."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        return super().commits(after, until - 1)


class UntilIgnored(LedgerTopic):
    """`commits` yields all further commits."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        return super().commits(after, self.newest())


class NewestFirst(LedgerTopic):
    """`commits` yields the last commit first."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        return reversed(list(super().commits(after, until)))


class Milliseconds(LedgerTopic):
    """The time of a commit is in milliseconds."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        return (replace(commit, time=commit.time * 1000) for commit in super().commits(after, until))


class Nameless(LedgerTopic):
    """Commits have the contract of the first one."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        first = next((line["contract"] for line in self.lines()[1:] if line["records"]), "")
        return (replace(commit, contract=first) for commit in super().commits(after, until))


class NotMissing(LedgerTopic):
    """A topic that does not exist is empty."""

    @override
    def lines(self) -> list[dict[str, Any]]:
        return super().lines() if self.file.exists() else [{"id": ""}]


class CountedWhenDropped(LedgerTopic):
    """A commit whose records were dropped still counts them."""

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        lines = self.lines()
        records = (line.get("records", 0) for line in lines[after + 1 : until + 1])
        return (replace(c, records=n) for c, n in zip(super().commits(after, until), records, strict=True))


class NumbersAgain(LedgerTopic):
    """The numbers of dropped commits are used again."""

    @override
    def drop(self, commits: Any, missed: Any) -> None:
        super().drop(commits, missed)
        lines = [line for number, line in enumerate(self.lines()) if number not in commits]
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))


class WithLock(LedgerTopic):
    """The topic keeps what cannot be pickled."""

    @override
    def newest(self) -> int:
        self.lock = threading.Lock()
        return super().newest()


BROKEN: dict[type[LedgerTopic], str] = {
    Unasked: "a_transaction_that_another_process_publishes_meanwhile_is_published_once",
    OnlyTheSame: "a_transaction_that_another_process_publishes_meanwhile_is_published_once",
    OldEpochs: "a_writer_that_is_fenced_meanwhile_publishes_nothing",
    AsksLater: "a_writer_that_is_fenced_meanwhile_publishes_nothing",
    WithoutState: "an_append_happens_once",
    UnclaimedEpochs: "a_higher_epoch_fences_the_older_writers",
    LowerEpochs: "a_higher_epoch_fences_the_older_writers",
    Unlocked: "processes_that_write_together_publish_each_record_once",
    LockedThreads: "processes_that_write_together_publish_each_record_once",
    ReadBefore: "processes_that_write_together_publish_each_record_once",
    InHalves: "processes_that_write_together_publish_each_record_once",
    MadeTwice: "processes_that_write_together_publish_each_record_once",
    InMemory: "another_process_continues_a_writer",
    OneWriter: "an_append_happens_once",
    WithoutMarkers: "a_marker_is_committed_with_its_records",
    EmptyMarkers: "a_marker_is_committed_with_its_records",
    NamedIds: "a_small_topic_that_is_created_again_is_another_one",
    MadeAgain: "creating_again_keeps_the_topic",
    AfterIncluded: "records_are_scanned_in_the_order_of_their_commits",
    UntilExcluded: "records_are_scanned_in_the_order_of_their_commits",
    UntilIgnored: "records_are_scanned_in_the_order_of_their_commits",
    NewestFirst: "records_are_scanned_in_the_order_of_their_commits",
    Milliseconds: "metadata_identifies_each_record",
    Nameless: "inspection",
    NotMissing: "a_topic_that_does_not_exist_is_an_error_of_one_line",
    CountedWhenDropped: "purging_keeps_what_a_reader_has_not_committed",
    NumbersAgain: "purging_keeps_what_a_reader_has_not_committed",
    WithLock: "a_small_topic_is_pickled",
}
"""Topics that break a rule each, with the test that finds it."""


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_channel_fails(broken: type[LedgerTopic], request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """It differs from the one that passes in one rule."""
    bench = ChannelBench(LedgerChannelType(broken), tmp_path, request)
    with pytest.raises((Exception, pytest.fail.Exception)):  # an assertion, or what reads the result
        getattr(TestLedger(), f"test_{BROKEN[broken]}")(bench)
