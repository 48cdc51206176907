"""`flow run --resources`: what a run creates and deletes, with applications that need no Spark."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan import TopicPlan
from blueprint.verification.verify import verify
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.channels.replays import Replay, runs
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner.dead_letters.letters import letters_in
from streamlets.runner.resources.deletion import Deletion
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow

BLUEPRINT = """
blueprint {
  streamlets { count = counting.Count, tell = counting.Tell }
  topics {
    numbers { producers = [count.out] }
    theirs { producers = [tell.out], managed = no }
  }
}
flow { application = shop, streamlets.count.retry.enabled = false }
"""

MODULE = """
import os
import signal

from streamlets import AvroOutlet, GeneratorSpout, StringParameter


class Count(GeneratorSpout):
    out = AvroOutlet(schema="number long not null", on_invalid="dead-letters")
    end = StringParameter("How it ends", default="complete")

    def run(self, out, resume):
        for number in range(resume or 0, 3):
            yield out.transaction([{"number": number}], resume=number + 1)
        match out.value(self.end):
            case "fail":
                raise ValueError("it fails")
            case "refuse":
                yield out.transaction([{"number": None}], resume=3)
            case "SIGINT" | "SIGTERM" as name:
                os.kill(os.getpid(), getattr(signal, name))
                while not out.wait(0.05):
                    pass


class Tell(GeneratorSpout):
    out = AvroOutlet(schema="number long not null")

    def run(self, out, resume):
        for number in range(resume or 0, 3):
            yield out.transaction([{"number": number}], resume=number + 1)
"""


class Application:
    """An application of two generators that deliver three numbers, one of them to an external topic."""

    def __init__(self, directory: Path, flow: Flow, name: str = "shop") -> None:
        self.directory = directory
        self.flow = flow
        self.state = StateDirectory(directory / ".flow", name)
        self.blueprint = directory / "blueprint.conf"
        self.blueprint.write_text(BLUEPRINT.replace("shop", name))
        (directory / "counting.py").write_text(MODULE)
        self.topic("theirs").create()

    def topic(self, name: str) -> Any:
        return DeltaChannel(self.state.topics).topic(TopicPlan(name, name, "delta", True, (), (), {}))

    def numbers(self, name: str = "numbers") -> list[int] | None:
        """Return the numbers in a topic; None if it does not exist."""
        try:
            return [row["number"] for batch in self.topic(name).scan() for row in batch.to_pylist()]
        except TopicLostError:
            return None

    def run(self, mode: str, *arguments: str, end: str = "complete") -> Any:
        sys.modules.pop("counting", None)
        setting = f"flow.streamlets.count.parameters.end={end}"
        return self.flow("run", str(self.blueprint), setting, "--resources", mode, *arguments)

    @property
    def files(self) -> list[str]:
        """The files of the state that a run continues from."""
        paths = [self.state.descriptor_file, self.state.deletion_file, self.state.staging]
        found = [path.name for path in paths if path.exists()]
        return sorted(found + [path.name for path in self.state.spouts.glob("*/report")])


@pytest.fixture
def application(tmp_path: Path, flow: Flow) -> Application:
    return Application(tmp_path, flow)


def test_a_clean_end_deletes_what_the_application_manages(application: Application) -> None:
    """Another run begins again, with the same records. An external topic keeps its records, and with them the position
    of the spout that writes it."""
    for _ in range(2):
        ended = application.run("standard")
        assert ended.code == 0, ended.err
        assert "topic numbers: deleted" in ended.out
        assert "topic theirs: kept: it is external (`managed = no`)" in ended.out
        assert application.numbers() is None
        assert application.numbers("theirs") == [0, 1, 2]
        assert application.files == []
    kept = application.run("keep")
    assert (kept.code, application.numbers()) == (0, [0, 1, 2])


@pytest.mark.parametrize("end", ["fail", "SIGINT", "SIGTERM"])
def test_another_end_deletes_nothing(application: Application, end: str) -> None:
    """After a failure or a signal everything is kept, so that the next run continues."""
    ended = application.run("standard", end=end)
    assert ended.code == (1 if end == "fail" else 0), ended.err
    assert application.numbers() == [0, 1, 2]
    assert "deleted" not in ended.out
    assert application.run("keep").code == 0
    assert application.numbers() == [0, 1, 2]  # continued from the marker, not from the beginning


def test_dead_letters_that_wait_are_kept(application: Application) -> None:
    """They can be read, and purged; then they are deleted, too."""
    ended = application.run("standard", end="refuse")
    assert ended.code == 0, ended.err
    assert application.numbers() is None
    assert "topic dead-letters.count: kept: it has 1 dead letter that waits; see `flow dead-letters`" in ended.out
    shown = application.flow("dead-letters", "show", "count", str(application.directory), "--format", "jsonl")
    assert (shown.code, len(shown.out.splitlines())) == (0, 1)
    again = application.run("standard", end="refuse")
    assert (again.code, "it has 2 dead letters that wait" in again.out) == (0, True), again.err
    purge = application.flow(
        "topics", "purge", "dead-letters.count", str(application.directory), "--all", "--force", "--yes"
    )
    assert purge.code == 0, purge.err
    deleted = application.run("delete-only", "--yes")
    assert (deleted.code, "topic dead-letters.count: deleted" in deleted.out) == (0, True), deleted.err
    assert application.flow("dead-letters", str(application.directory)).code in (0, 2)
    assert application.files == []


def test_a_replay_is_not_repeated_into_a_later_topic(application: Application) -> None:
    """The last decision is repeated in case that a kill interrupted it; after a deletion it would write the letters of
    the deleted topic again."""
    for _ in range(2):
        assert application.run("keep", end="refuse").code == 0
    letters = application.topic("dead-letters.count")
    first, second = letters_in(letters)
    contract = application.topic("numbers").contracts()[0]
    decision = Replay(0, "count.out", "numbers", contract.json, runs([first.place]))
    assert letters.replays.decide(decision)
    ended = application.run("standard")
    assert (ended.code, "it has 1 dead letter that waits" in ended.out) == (0, True), ended.err
    assert application.run("keep").code == 0
    replayed = application.flow("dead-letters", "replay", "count", str(application.directory))
    assert replayed.code == 1, replayed.err
    assert application.numbers() == [0, 1, 2]
    assert [letter.place for letter in letters_in(letters) if not letter.replayed] == [second.place]


def test_create_only_creates_and_exits(application: Application) -> None:
    """Nothing runs; a second call finds that all topics exist."""
    first = application.run("create-only", "--available-now", "--isolation", "process")
    assert (first.code, "topic numbers: created" in first.out) == (0, True), first.err
    assert application.numbers() == []
    second = application.run("create-only", "--format", "json")
    outcomes = [json.loads(line) for line in second.out.splitlines()]
    assert {(outcome["name"], outcome["result"]) for outcome in outcomes} == {
        ("dead-letters.count", "exists"), ("numbers", "exists"), ("theirs", "exists"),
    }  # fmt: skip
    assert application.run("skip").code == 0
    assert application.numbers() == [0, 1, 2]


def test_a_topic_that_cannot_be_created_does_not_stop_the_others(application: Application) -> None:
    """The failure is reported with its remedy, and the next call continues."""
    application.state.topics.mkdir(parents=True, exist_ok=True)
    (application.state.topics / "dead-letters.count").write_text("a file in place of a directory")
    failed = application.run("create-only")
    assert failed.code == 1
    assert "topic dead-letters.count: failed: " in failed.out
    assert application.numbers() == []
    run = application.run("keep")
    assert (run.code, "cannot create the topics" in run.err) == (1, True)
    (application.state.topics / "dead-letters.count").unlink()
    assert application.run("create-only").code == 0


def test_skip_requires_the_topics(application: Application) -> None:
    """It creates none, and names all that are missing, with the remedy."""
    refused = application.run("skip")
    assert refused.code == 1
    assert "these do not exist: `dead-letters.count`, `numbers`" in refused.err
    assert "--resources create-only" in refused.err
    assert application.numbers() is None


def test_delete_only_asks(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lists what it would delete. Without a terminal it refuses; a no deletes nothing; --yes does not ask."""
    assert application.run("keep", end="refuse").code == 0
    asked = application.run("delete-only")
    assert asked.code == 2
    assert "to be deleted:\n  topic numbers (3 records)" in asked.err
    assert "kept:\n  topic dead-letters.count (it has 1 dead letter that waits)" in asked.err
    assert "nothing was deleted; add --yes to confirm" in asked.err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt: "n")
    assert application.run("delete-only").code == 130
    assert application.numbers() == [0, 1, 2]
    deleted = application.run("delete-only", "--yes", "--format", "json")
    assert deleted.code == 0, deleted.err
    results = {outcome["name"]: outcome["result"] for outcome in map(json.loads, deleted.out.splitlines())}
    assert (results["numbers"], results["theirs"], results["dead-letters.count"]) == ("deleted", "kept", "kept")
    assert application.numbers() is None
    assert application.numbers("theirs") == [0, 1, 2]
    nothing = application.run("delete-only")
    assert (nothing.code, "nothing to delete" in nothing.out) == (0, True), nothing.err


@pytest.mark.parametrize("mode", ["create-only", "delete-only", "standard", "keep", "skip"])
def test_only_the_owner_creates_and_deletes(application: Application, mode: str) -> None:
    """While another run owns the state, each mode is refused, and nothing changes."""
    assert application.run("keep").code == 0
    with application.state.locked():
        refused = application.run(mode, "--yes")
    assert (refused.code, "running" in refused.err) == (1, True)
    assert application.numbers() == [0, 1, 2]


@pytest.mark.parametrize("mode", ["create-only", "delete-only", "skip"])
def test_fresh_excludes_modes_that_create_nothing_for_it(application: Application, mode: str) -> None:
    """The combination is a wrong argument; the state is not touched."""
    assert application.run("keep").code == 0
    refused = application.run(mode, "--fresh", "--yes")
    assert (refused.code, "--fresh" in refused.err) == (2, True)
    assert application.numbers() == [0, 1, 2]
    assert application.run("standard", "--fresh", "--yes", end="fail").code == 1
    assert application.numbers() == [0, 1, 2]


def test_the_mode_may_be_a_setting(application: Application) -> None:
    """The option wins over it."""
    setting = "flow.resources=standard"
    sys.modules.pop("counting", None)
    assert application.run("keep", setting).code == 0
    assert application.numbers() == [0, 1, 2]
    assert application.flow("run", str(application.directory), setting).code == 0
    assert application.numbers() is None


POINTS = (
    "after-deletion-decided", "after-checkpoints-deleted", "during-topic-deletion", "after-topic-deleted",
    "after-topics-deleted", "after-descriptor-deleted",
)  # fmt: skip


class KilledError(BaseException):
    """Stands for a kill."""


def kill_at(point: str, application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete the resources of an application, and kill the process at a point."""

    def crash_point(name: str) -> None:
        if name == point:
            raise KilledError

    blueprint = application.blueprint
    plan = verify(blueprint, catalog=ProjectCatalog(), environment={}, working_directory=blueprint.parent).plan
    assert plan is not None
    with monkeypatch.context() as patched:
        patched.setattr("streamlets.runner.resources.deletion.crash_point", crash_point)
        patched.setattr("streamlets.channels.delta.topic.crash_point", crash_point)
        patched.setattr("streamlets.channels.kafka.topic.administered.crash_point", crash_point)
        with application.state.locked(), pytest.raises(KilledError):
            Deletion(plan=plan, state=application.state, report=lambda outcome: None).carry_out()


@pytest.mark.parametrize("point", POINTS)
def test_a_deletion_that_was_killed_is_completed(
    application: Application, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is called next, no topic keeps old records and no checkpoint stays; `skip` refuses to complete it."""
    for mode, expected in (
        ("keep", [0, 1, 2]), ("standard", None), ("create-only", []), ("delete-only", None), ("skip", None),
    ):  # fmt: skip
        assert application.run("keep", "--fresh", "--yes").code == 0
        query = application.state.checkpoints / "gone" / "query"
        query.mkdir(parents=True)
        (query / "metadata").write_text('{"id": "a"}')
        kill_at(point, application, monkeypatch)
        assert application.state.deletion_file.exists()
        result = application.run(mode, "--yes")
        if mode == "skip":
            assert (result.code, "delete-only" in result.err) == (1, True)
            assert application.run("delete-only", "--yes").code == 0
        else:
            assert result.code == 0, (mode, result.err)
        assert application.numbers() == expected, mode
        assert application.numbers("theirs") == [0, 1, 2]
        assert not application.state.deletion_file.exists()
        assert not list(application.state.checkpoints.iterdir())


def test_a_topic_that_cannot_be_deleted_does_not_stop_the_others(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is reported, with exit code 1. No run reads or writes what is left: the next one completes the
    deletion first, and `--fresh` begins without."""
    delete = DeltaTopic.delete

    def refused(topic: DeltaTopic) -> None:
        if topic.plan.name == "dead-letters.count":
            raise OSError("the device is busy")
        delete(topic)

    with monkeypatch.context() as patched:
        patched.setattr(DeltaTopic, "delete", refused)
        ended = application.run("standard")
        assert ended.code == 1
        assert "topic dead-letters.count: failed: the device is busy" in ended.out
        assert "topic numbers: deleted" in ended.out
        again = application.run("keep")
        assert (again.code, "could not be deleted" in again.err) == (1, True)
        assert application.numbers() is None
        fresh = application.run("keep", "--fresh", "--yes")
        assert (fresh.code, application.numbers()) == (0, [0, 1, 2])
        assert application.run("standard").code == 1
    assert application.run("keep").code == 0
    assert application.numbers() == [0, 1, 2]


def test_a_signal_ends_a_deletion_after_the_current_topic(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run says so, and the next one continues."""
    delete = DeltaTopic.delete

    def interrupted(topic: DeltaTopic) -> None:
        delete(topic)
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(DeltaTopic, "delete", interrupted)
        ended = application.run("standard")
    assert (ended.code, "the deletion was interrupted" in ended.out) == (1, True)
    assert application.topic("dead-letters.count").exists() is not application.topic("numbers").exists()
    assert application.run("keep").code == 0
    assert application.numbers() == [0, 1, 2]


def test_servers_that_do_not_answer_do_not_stop_other_channels(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their topics fail, with the servers; topics elsewhere are created and deleted all the same."""
    monkeypatch.setattr("streamlets.channels.waiting.PATIENCE", 0)
    monkeypatch.setattr("streamlets.channels.kafka.reachability._PATIENCE", 0.3)
    servers = "127.0.0.1:9"
    settings = (
        "flow.topics.theirs.channel=kafka", f'flow.kafka.clusters.default.bootstrap.servers="{servers}"',
    )  # fmt: skip
    created = application.run("create-only", *settings)
    assert (created.code, "topic theirs: failed: " in created.out, servers in created.out) == (1, True, True)
    assert application.numbers() == []
    deleted = application.run("delete-only", "--yes", *settings)
    assert (deleted.code, "topic theirs: failed: " in deleted.out) == (1, True), deleted.err
    assert application.numbers() is None
    assert application.run("keep").code == 0  # without these servers, the rest of the deletion is completed
    assert application.numbers() == [0, 1, 2]


@pytest.mark.parametrize("content", ["", "{", '{"application": "other"}', "[]"])
def test_a_damaged_record_of_a_deletion_is_reported(application: Application, content: str) -> None:
    """Nothing is deleted; without the file, the application continues."""
    assert application.run("keep").code == 0
    application.state.deletion_file.write_text(content)
    for mode in ("keep", "standard", "create-only", "delete-only"):
        refused = application.run(mode, "--yes")
        assert (refused.code, "deletion.json" in refused.err) == (1, True), mode
        assert application.numbers() == [0, 1, 2]
    application.state.deletion_file.unlink()
    assert application.run("keep").code == 0
    assert application.numbers() == [0, 1, 2]
