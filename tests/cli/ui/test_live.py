"""Live messages: everything at first, then what changes; after an interruption no event is missing, and none twice."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cli.ui.live import Feed, mark_of
from streamlets.runner.events.history import EventHistory
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.state_directory.directory import StateDirectory

MEAN, COPY = UnitId("mean", "out"), UnitId("copy", "out")


class Run:
    """What a run writes, without one."""

    def __init__(self, directory: Path) -> None:
        self.state = StateDirectory(directory, "plant")
        self._lock = self.state.locked()
        self._lock.__enter__()
        self.events = Publisher((StatusFile(self.state.status_file), EventHistory(self.state.event_history)))
        self.publish(RunStarted(time.time(), "plant", ("mean", "copy")))
        for unit in (MEAN, COPY):
            self.publish(UnitChanged(time.time(), unit, "running"))

    def publish(self, *events: Any) -> None:
        """Publish events of the run."""
        for event in events:
            self.events.publish(event)

    def change(self, unit: UnitId, cause: str) -> None:
        """Let a unit fail for a cause."""
        self.publish(UnitChanged(time.time(), unit, "backing-off", cause, retry_in=1.0))

    def end(self) -> None:
        """Release the state directory, as a process that has exited."""
        self._lock.__exit__(None, None, None)


async def _next(following: AsyncIterator[str]) -> tuple[str, dict[str, Any]]:
    """Return the id and the data of the next message that has some."""
    async with asyncio.timeout(60):
        async for message in following:
            fields = dict(line.split(": ", 1) for line in message.strip().splitlines() if not line.startswith(":"))
            if fields:
                return fields["id"], json.loads(fields["data"])
    raise AssertionError("no message")


def _causes(data: dict[str, Any]) -> list[str]:
    return [event["lines"][-1].rpartition(": ")[2] for event in data["events"] if event["kind"] == "unit-changed"]


def test_first_everything_then_what_changes(tmp_path: Path) -> None:
    """A message has the whole run, and only the streamlets that have changed."""
    run = Run(tmp_path)

    async def follow() -> None:
        following = Feed(run.state).follow()
        _, first = await _next(following)
        assert (first["whole"], sorted(first["streamlets"]), first["run"]["alive"]) == (True, ["copy", "mean"], True)
        run.change(MEAN, "ValueError: 7")
        _, then = await _next(following)
        assert (then["whole"], list(then["streamlets"])) == (False, ["mean"])
        assert then["streamlets"]["mean"]["cause"] == "ValueError: 7"
        assert [event["level"] for event in then["events"]] == ["warning"]
        run.publish(UnitProgressed(time.time(), COPY, 0, 5, seconds=0.1), RunEnded(time.time(), 0))
        run.end()
        _, last = await _next(following)
        while last["run"]["health"] != "ended":
            _, last = await _next(following)
        await following.aclose()  # type: ignore[attr-defined]

    asyncio.run(follow())


def test_a_page_that_comes_back_misses_no_event(tmp_path: Path) -> None:
    """Twenty interruptions at any time: each event once, in order, also with a new server."""
    run = Run(tmp_path)
    seen: list[str] = []

    async def visit(feed: Feed, after: str, number: int) -> str:
        following = feed.follow(mark_of(after))
        last, data = await _next(following)
        seen.extend(_causes(data))
        run.change(MEAN, f"cause {number}")
        while f"cause {number}" not in seen:
            last, data = await _next(following)
            seen.extend(_causes(data))
        await following.aclose()  # type: ignore[attr-defined]
        run.change(COPY, f"between {number}")  # while nobody looks
        return last

    async def visits() -> None:
        feed, last = Feed(run.state), ""
        for number in range(20):
            if number % 5 == 4:
                feed = Feed(run.state)  # the server has restarted
            last = await visit(feed, last, number)

    asyncio.run(visits())
    run.end()
    expected = ["running", "running", *(f"{kind} {n}" for n in range(20) for kind in ("cause", "between"))]
    assert [cause for cause in seen if not cause.endswith("running")] == expected[2:-1]


def test_a_killed_run_is_shown_as_dead(tmp_path: Path) -> None:
    """Nothing writes the end of a killed run: its lock is free, and its status has no end."""
    run = Run(tmp_path)

    async def follow() -> None:
        following = Feed(run.state).follow()
        _, first = await _next(following)
        assert first["run"]["health"] == "running"
        run.end()
        _, then = await _next(following)
        assert (then["run"]["health"], then["run"]["alive"]) == ("died", False)
        lost = list(then["streamlets"].values())
        assert {each["health"] for each in lost} == {"lost"}
        assert {each["since"] for each in lost} == {then["run"]["written"]}
        units = [unit for each in lost for unit in each["units"]]
        assert {(unit["rate"], unit["busy"], unit["running_batch"]) for unit in units} == {(0.0, None, None)}
        await following.aclose()  # type: ignore[attr-defined]

    asyncio.run(follow())


def test_a_slow_page_gets_the_last_state_and_every_event(tmp_path: Path) -> None:
    """What it has not taken is not queued for it; states between are skipped."""
    run = Run(tmp_path)

    async def follow() -> None:
        feed = Feed(run.state)
        slow, quick = feed.follow(), feed.follow()
        await _next(slow)
        await _next(quick)
        seen: list[str] = []
        for number in range(30):
            run.change(MEAN, f"cause {number}")
            if number % 10 == 9:
                while f"cause {number}" not in seen:
                    seen += _causes((await _next(quick))[1])
        _, data = await _next(slow)
        assert data["streamlets"]["mean"]["cause"] == "cause 29"
        assert _causes(data) == seen == [f"cause {number}" for number in range(30)]
        for each in (slow, quick):
            await each.aclose()  # type: ignore[attr-defined]

    asyncio.run(follow())
    run.end()


@pytest.mark.parametrize(("text", "mark"), [("", None), ("x", None), ("1.5-x", None), ("1.5-3", (1.5, 3)), ("-", None)])
def test_marks_are_read_from_the_header(text: str, mark: tuple[float, int] | None) -> None:
    """What a browser sends is an id of the server, or nothing."""
    assert mark_of(text) == mark


def test_a_deleted_state_directory_is_reported(tmp_path: Path) -> None:
    """To a page that has shown it; when there is a run again, the page shows it."""
    run = Run(tmp_path)

    async def follow() -> None:
        following = Feed(run.state).follow()
        _, first = await _next(following)
        assert first["run"]["deleted"] == ""
        run.end()
        shutil.rmtree(run.state.directory)
        while True:
            _, then = await _next(following)
            if then["run"]["deleted"]:
                break
        assert (then["run"]["deleted"], then["streamlets"]) == (str(run.state.directory), {})
        again = Run(tmp_path)
        while then["run"]["deleted"]:
            _, then = await _next(following)
        again.end()

    asyncio.run(follow())
