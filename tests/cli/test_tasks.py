"""`flow tasks`: list, show and retry, on topics and a checkpoint as a run leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.avro.tasks import task_contract
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.contract.types import arrow_schema
from streamlets.ingress.batch_sources.cursor import TaskOffset
from streamlets.ingress.batch_sources.progress import DiscoveryProgress, progress_file, write_progress
from streamlets.ingress.batch_sources.requests import retry_requests
from streamlets.ingress.batch_sources.task_writer import TaskWriter
from streamlets.runner.state_directory.directory import StateDirectory

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

BLUEPRINT = """
blueprint { streamlets { pages = app.Pages }, topics { pages { producers = [pages.out] } } }
flow.application = app
"""
PAGES = """
from streamlets import AvroOutlet, BatchSource

class Pages(BatchSource):
    out = AvroOutlet(schema="n long")

    def discover(self, eat, event):
        pass

    def prepare(self, task):
        pass

    def read_next(self):
        pass
"""
DISCOVERED = 1_700_000_000.0


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An application with six tasks: 0 to 3 are read, of which 1 and 2 have failed."""
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    state = StateDirectory(tmp_path / ".flow", "app")
    tasks = DeltaChannel(state.topics).topic(TopicPlan("t", "tasks.pages", "delta", True, (), (), {}))
    tasks.create([task_contract()])
    writer = TaskWriter(tasks, "pages.discovery", lambda: DISCOVERED)
    writer.begin("nine o'clock")
    for number in range(6):
        writer.eat({"page": number}, key=f"page {number}")
    writer.finish()
    writer.close()
    letters = DeltaChannel(state.topics).topic(TopicPlan("d", "dead-letters.pages", "delta", True, (), (), {}))
    letters.create([dead_letter_contract()])
    with letters.appender(dead_letter_contract(), writer="pages.read") as appender:
        rows = [_letter(1, "OSError: refused"), _letter(2, "ValueError: not a number")]
        appender.append([pa.RecordBatch.from_pylist(rows, schema=arrow_schema(dead_letter_contract()))], 0)
    checkpoint = state.checkpoints / "pages" / "read"
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
    offset = json.dumps(TaskOffset(3).to_dict())
    (checkpoint / "offsets" / "0").write_text(f'v1\n{{"batchTimestampMs":1}}\n{offset}')
    (checkpoint / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    write_progress(progress_file(state.directory, "pages"), DiscoveryProgress(1, discoveries=1, repeated=4, dropped=2))
    return tmp_path


def _letter(number: int, reason: str) -> dict[str, object]:
    error = f"Traceback:\n  in read_next\n{reason}"
    record = {"task": number, "key": f"page {number}", "payload": "{}", "attempts": 3, "error": error}
    return {
        "record": json.dumps(record), "port": "pages.tasks", "coordinates": f"task/{number}", "reason": reason,
        "time": int((DISCOVERED + 60) * 1e6), "version": "",
    }  # fmt: skip


def _requested(directory: Path) -> list[int]:
    file = progress_file(StateDirectory(directory / ".flow", "app").directory, "pages")
    return [request.number for request in retry_requests(file.parent)]


def test_tasks_are_listed(flow: Flow, directory: Path) -> None:
    """Counts as a table or as JSON; a state without a source says so."""
    result = flow("tasks", str(directory))
    heading, line = result.out.splitlines()
    assert (result.code, heading.split()[0], line.split()[:4]) == (0, "app", ["pages", "6", "4", "2"])
    assert line.endswith("2         4        2  1 discovery in the last run")
    (source,) = json.loads(flow("tasks", "list", str(directory), "--format", "json").out)["app"]
    assert (source["waiting"], source["failed"], source["oldest"]) == (2, 2, DISCOVERED)


def test_waiting_and_failed_tasks_are_shown(flow: Flow, directory: Path) -> None:
    """The failed ones with the reason; tasks that were read only on request."""
    result = flow("tasks", "show", "pages", str(directory))
    assert result.code == 0
    assert [line.partition(":")[0] for line in result.out.splitlines() if line.startswith("task")] == [
        "task 1", "task 2", "task 4", "task 5",
    ]  # fmt: skip
    assert "failed 2023-11-14 22:14:20 UTC after 3 attempts" in result.out
    assert "  OSError: refused" in result.out and "in read_next" not in result.out
    lines = flow("tasks", "show", "pages", str(directory), "--all", "--format", "jsonl").out.splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["state"] for entry in entries] == ["read", "failed", "failed", "read", "waiting", "waiting"]
    assert entries[1]["failure"]["reason"] == "OSError: refused" and entries[0]["event"] == "nine o'clock"


def test_a_task_is_shown_with_the_frames_of_its_error(flow: Flow, directory: Path) -> None:
    """`--task` selects by number, and `--reason` by the error."""
    result = flow("tasks", "show", "pages", str(directory), "--task", "2")
    assert result.out.splitlines()[1:] == [
        '  {"page":2}',
        "  Traceback:",
        "    in read_next",
        "  ValueError: not a number",
    ]
    assert "task 1:" not in flow("tasks", "show", "pages", str(directory), "--reason", "number").out
    result = flow("tasks", "show", "pages", str(directory), "--task", "9")
    assert (result.code, "`pages` has no task 9" in result.err) == (2, True)


def test_failed_tasks_are_retried_once(flow: Flow, directory: Path) -> None:
    """A request is stored for the runner; the task is then no longer counted as failed."""
    result = flow("tasks", "retry", "pages", str(directory), "--reason", "refused")
    assert (result.code, result.out) == (0, "pages: 1 task will be read again when the application runs\n")
    assert _requested(directory) == [1]
    assert json.loads(flow("tasks", "list", str(directory), "--format", "json").out)["app"][0]["failed"] == 1
    result = flow("tasks", "retry", "pages", str(directory), "--all", "--format", "json")
    assert json.loads(result.out) == {"retried": 1, "tasks": [2]}
    assert flow("tasks", "retry", "pages", str(directory), "--all").out == "pages: no failed tasks to retry\n"
    assert "task 1: failed 2023-11-14 22:14:20 UTC after 3 attempts, retried" in flow(
        "tasks", "show", "pages", str(directory), "--all"
    ).out  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pages",), "choose the tasks with --task NUMBER, --reason TEXT or --all"),
        (("pages", "--task", "0"), "`pages` has no failed task 0"),
        (("page", "--all"), "there is no batch source `page`; did you mean `pages`?"),
    ],
)
def test_wrong_arguments_are_explained(flow: Flow, directory: Path, arguments: tuple[str, ...], message: str) -> None:
    """A task that was read, or that waits, is not retried; a name that is nearly right is suggested."""
    name, *rest = arguments
    result = flow("tasks", "retry", name, str(directory), *rest)
    assert (result.code, message in result.err) == (2, True), result.err
    assert _requested(directory) == []


def test_a_replay_of_dead_letters_points_to_the_tasks(flow: Flow, directory: Path) -> None:
    """A failed task is not a record that could be replayed."""
    (directory / "app.py").write_text(PAGES)
    blueprint = BLUEPRINT.replace("app.Pages", "{ class = app.Pages, parameters.discovery.triggerer = immediate }")
    (directory / "blueprint.conf").write_text(blueprint.replace("pages = {", "pages {"))
    result = flow("dead-letters", "replay", "pages", str(directory))
    assert "run `flow tasks retry pages`" in result.out, result.out + result.err
    assert "UTC  pages.tasks, task 1\n" in flow("dead-letters", "show", "pages", str(directory)).out
