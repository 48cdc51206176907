"""A small channel for tests: a topic is a file of lines, each of them a commit."""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from blueprint.catalog import ChannelTraits
from blueprint.plan import TopicPlan
from streamlets.channels.base import Missed
from streamlets.channels.channel_type import ChannelType
from streamlets.channels.small import Commit, Content, PurgingTopic, SmallChannel, WriterState
from streamlets.override import override

TRAITS = ChannelTraits(name="ledger", reserved=("_", "."), purges=True)


class LedgerTopic(PurgingTopic):
    """A topic in a file, which writers lock. The number of a commit is that of its line, from 0 for the id."""

    traits = TRAITS

    @property
    def file(self) -> Path:
        """The file."""
        return self.directory / "log"

    @property
    @override
    def id(self) -> str:
        return str(self.lines()[0]["id"])

    @override
    def make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        draft = self.directory / f".{uuid.uuid4()}"
        draft.write_text(json.dumps({"id": str(uuid.uuid4())}) + "\n")
        try:
            os.link(draft, self.file)
        except FileExistsError:
            pass
        finally:
            draft.unlink()

    @override
    def newest(self) -> int:
        return len(self.lines()) - 1

    @override
    def commits(self, after: int, until: int) -> Iterator[Commit]:
        lines = self.lines()
        dropped = self.dropped(lines)
        for number in range(after + 1, until + 1):
            line = lines[number]
            records = 0 if number in dropped else line["records"]
            yield Commit(number, line["contract"], records, len(line["data"]), line["time"])

    @override
    def data(self, commit: int) -> bytes | None:
        lines = self.lines()
        return None if commit in self.dropped(lines) else b64decode(lines[commit]["data"])

    @override
    def claim(self, writer: str, epoch: int) -> WriterState:
        with self.locked() as file:
            stored = self.state(writer)
            claimed = stored.claimed(writer, epoch)
            if claimed != stored:
                self.add(file, **self.of_writer(writer, claimed))
            return claimed

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.locked() as file:
            if not self.state(writer).admits(writer, state):
                return False
            self.add(file, **self.of_writer(writer, state), **self.of_content(content))
            return True

    @override
    def drop(self, commits: Collection[int], missed: Collection[Missed]) -> None:
        with self.locked() as file:
            self.add(file, dropped=list(commits), missed=[asdict(loss) for loss in missed])

    @override
    def missed(self) -> Iterator[Missed]:
        losses = [Missed(**loss) for line in self.lines()[1:] for loss in line["missed"]]
        for loss in losses[sum(line["told"] for line in self.lines()[1:]) :]:
            yield loss
            with self.locked() as file:
                self.add(file, told=1)

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines that were written completely.

        Raises:
            TopicLostError: the topic does not exist.
        """
        try:
            text = self.file.read_text()
        except FileNotFoundError:
            raise self.not_found() from None
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def dropped(self, lines: list[dict[str, Any]]) -> set[int]:
        """Return the numbers of the commits whose records were dropped."""
        return {number for line in lines[1:] for number in line["dropped"]}

    @contextmanager
    def locked(self) -> Iterator[BinaryIO]:
        """Open the file while no other process writes it."""
        with self.opened() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(file.read().rfind(b"\n") + 1)  # without a line that was not completed
            file.seek(0, os.SEEK_END)
            yield file

    def opened(self) -> BinaryIO:
        """Open the file.

        Raises:
            TopicLostError: the topic does not exist.
        """
        try:
            return self.file.open("r+b")
        except FileNotFoundError:
            raise self.not_found() from None

    def state(self, writer: str) -> WriterState:
        """Return the state of a writer: that of its last line."""
        for line in reversed(self.lines()[1:]):
            if line["writer"] == writer:
                marker = line["marker"]
                return WriterState(line["epoch"], line["sequence"], None if marker is None else b64decode(marker))
        return WriterState()

    def of_writer(self, writer: str, state: WriterState) -> dict[str, Any]:
        """Return the part of a line with the state of a writer."""
        marker = None if state.marker is None else b64encode(state.marker).decode()
        return {"writer": writer, "epoch": state.epoch, "sequence": state.sequence, "marker": marker}

    def of_content(self, content: Content) -> dict[str, Any]:
        """Return the part of a line with records."""
        return {
            "contract": content.contract, "records": content.records, "data": b64encode(content.data).decode(),
        }  # fmt: skip

    def add(self, file: BinaryIO, **parts: Any) -> None:
        """Add a line."""
        empty = {"writer": "", "contract": "", "records": 0, "data": "", "dropped": [], "missed": [], "told": 0}
        file.write(json.dumps(empty | parts | {"time": time.time()}).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


class LedgerChannel(SmallChannel):
    """The topics below a directory.

    Arguments:
        directory: the directory.
        opens: the class of its topics.
    """

    traits = TRAITS

    def __init__(self, directory: Path, opens: type[LedgerTopic]) -> None:
        super().__init__(directory)
        self.opens = opens

    @override
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(file.parent.name for file in self.directory.glob("*/log")))

    @override
    def opened(self, plan: TopicPlan, directory: Path) -> LedgerTopic:
        return self.opens(plan, directory)


@dataclass(frozen=True)
class LedgerChannelType(ChannelType):
    """The channel, as it is registered.

    Arguments:
        opens: the class of its topics.
    """

    opens: type[LedgerTopic] = LedgerTopic
    traits = TRAITS

    @override
    def open(self, directory: Path) -> LedgerChannel:
        return LedgerChannel(directory / "_ledger", self.opens)
