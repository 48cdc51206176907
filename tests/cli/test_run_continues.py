"""`flow run` on a state directory that an earlier run left: it continues, or stops before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.plan import ApplicationPlan
from streamlets.runner import run as running
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.session import SessionError
from tests.cli.conftest import Flow, Said

_MODULE = """
from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic

ROW = "id long not null"

class Source(SparkStreamlet):
    rows = AvroOutlet(schema=ROW)
    pace = IntegerParameter("Rows a second", default=1)
    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self): ...

class Copy(SparkStreamlet):
    rows = AvroInlet(schema=ROW)
    copies = AvroOutlet(schema=ROW)
    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self): ...
"""
_BLUEPRINT = """
blueprint {
  streamlets { source = continued.Source, COPY = continued.Copy }
  topics {
    rows { producers = [source.rows], consumers = [COPY.rows] }
    copies { producers = [COPY.copies] }
  }
}
flow.application = shop
"""
_WITHOUT_COPY = """
blueprint {
  streamlets { source = continued.Source }
  topics { rows { producers = [source.rows] } }
}
flow.application = shop
"""


class Shop:
    """An application whose blueprint changes, run without Spark: each run leaves what a real one would."""

    def __init__(self, flow: Flow, folder: Path) -> None:
        self.folder = folder
        self.state = StateDirectory(folder / ".flow", "shop")
        self.runs = 0
        self._flow = flow
        (folder / "continued.py").write_text(_MODULE)
        self.become(_BLUEPRINT.replace("COPY", "copy"))

    def become(self, blueprint: str) -> None:
        """Have another blueprint."""
        (self.folder / "blueprint.conf").write_text(blueprint)

    def run(self, *arguments: str) -> Said:
        """`flow run` on it."""
        return self._flow("run", str(self.folder), *arguments)

    def drivers(self, plan: ApplicationPlan, state: StateDirectory, *given: Any, **more: Any) -> Any:
        """Stand in for Spark: leave the checkpoints of a run, and have nothing to supervise."""
        self.runs += 1

        def stop() -> None:
            for streamlet in plan.streamlets:
                for outlet in streamlet.outlets:
                    checkpoint(state, streamlet.ref, outlet.name)

        return SimpleNamespace(units=(), stop=stop)


def checkpoint(state: StateDirectory, streamlet: str, query: str, *, planned: int = 0) -> Path:
    """A checkpoint whose batch 0 is committed, and which has planned this one."""
    folder = state.checkpoints / streamlet / query
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id": "1"}')
    (folder / "commits" / "0").write_text("v1\n{}")
    for batch in range(planned + 1):
        (folder / "offsets" / str(batch)).write_text('v2\n{"batchWatermarkMs":0,"conf":{}}\nrows:{}')
    return folder


@pytest.fixture
def shop(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Nothing has run yet."""
    shop = Shop(flow, tmp_path)
    monkeypatch.setattr(running, "drivers_of", shop.drivers)
    return shop


def _described(shop: Shop) -> set[str]:
    return set(json.loads(shop.state.descriptor_file.read_text())["streamlets"])


def test_an_unchanged_application_continues_without_a_word(shop: Shop) -> None:
    """The first run has nothing to compare with, the second no change."""
    for _ in range(2):
        said = shop.run()
        assert (said.code, said.err) == (0, "")
    assert shop.runs == 2


def test_safe_changes_continue(shop: Shop) -> None:
    """A changed parameter and a new streamlet take nothing."""
    shop.become(_WITHOUT_COPY)
    assert shop.run().code == 0
    shop.become(_BLUEPRINT.replace("COPY", "copy"))
    said = shop.run("flow.streamlets.source.parameters.pace=2")
    assert (said.code, said.err) == (0, "")


def test_a_renamed_streamlet_stops_before_spark_starts(shop: Shop) -> None:
    """It would read everything again and double it: the findings say so, and the descriptor stays as it was."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    said = shop.run()
    assert said.code == 2
    assert "error[change-streamlet-renamed]" in said.err
    assert "copy.copies" in said.err
    assert "--allow state-loss" in said.err
    assert shop.runs == 1
    assert _described(shop) == {"source", "copy"}
    assert shop.run("--allow", "drain").code == 2


def test_an_allowed_change_becomes_what_later_runs_are_compared_with(shop: Shop) -> None:
    """The checkpoints that it loses are reset and named; the next run has no change, and the old name is one."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    said = shop.run("--allow", "state-loss")
    assert said.code == 0
    assert "warning[change-streamlet-renamed]" in said.err
    assert "copy.copies" in said.err
    assert not (shop.state.checkpoints / "copy" / "copies").exists()
    assert (shop.state.checkpoints / "source" / "rows").exists()
    assert _described(shop) == {"source", "twin"}
    assert shop.run().err == ""
    shop.become(_BLUEPRINT.replace("COPY", "copy"))
    assert shop.run().code == 2


def test_a_stopped_application_is_drained(shop: Shop) -> None:
    """Where each query ended at a commit a change that needs a drain continues, with a warning; where a batch was
    begun and not committed it does not."""
    shop.run()
    shop.become(_WITHOUT_COPY)
    planned = checkpoint(shop.state, "copy", "copies", planned=1)
    said = shop.run()
    assert said.code == 2
    assert "error[change-streamlet-removed]" in said.err
    assert "`copy.copies`" in said.err
    assert "--allow drain" in said.err
    (planned / "commits" / "1").write_text("v1\n{}")
    said = shop.run()
    assert said.code == 0
    assert "warning[change-streamlet-removed]" in said.err


def test_state_without_a_descriptor_is_not_continued(shop: Shop) -> None:
    """What made it is not known, so the worst is assumed, and can be allowed."""
    checkpoint(shop.state, "copy", "copies")
    said = shop.run()
    assert said.code == 2
    text = " ".join(said.err.split())
    assert "has no descriptor of the version that made" in text
    assert "--allow state-loss" in text
    assert shop.run("--allow", "state-loss").code == 0
    assert (shop.state.checkpoints / "copy" / "copies").exists()
    assert shop.run().code == 0


@pytest.mark.parametrize("text", ["", '{"version": 1, "appl', '{"version": 99, "streamlets": {}, "topics": {}}'])
def test_a_damaged_descriptor_is_not_continued(shop: Shop, text: str) -> None:
    """It is reported with its file; allowing the worst, or deleting the state, replaces it."""
    shop.run()
    shop.state.descriptor_file.write_text(text)
    said = shop.run()
    assert said.code == 2
    assert "descriptor.json" in said.err
    assert shop.run("--allow", "drain").code == 2
    assert shop.run("--allow", "state-loss").code == 0
    assert shop.run().code == 0


def test_a_descriptor_without_checkpoints_and_records_is_nothing_to_continue(shop: Shop) -> None:
    """A run that failed before its first query was started leaves nothing that a change could lose."""
    shop.run()
    for folder in shop.state.checkpoints.iterdir():
        folder.rename(shop.folder / folder.name)
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    assert shop.run().code == 0


def test_fresh_compares_with_nothing(shop: Shop) -> None:
    """All state goes, and with it the descriptor."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    assert shop.run("--fresh", "--yes").code == 0
    assert _described(shop) == {"source", "twin"}
    with shop.state.locked():
        shop.state.clear()
    assert not shop.state.descriptor_file.exists()


def test_a_running_application_is_left_alone(shop: Shop) -> None:
    """What its queries have begun is no unfinished batch of a run that ended; it owns the state."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    checkpoint(shop.state, "copy", "copies", planned=1)
    with shop.state.locked():
        said = shop.run()
    assert said.code == 1
    assert "is already running" in said.err
    assert "change-" not in said.err


def test_what_another_run_changed_meanwhile_is_not_continued(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the comparison and the lock another version may have run: the comparison holds no longer."""
    shop.run()

    locked = StateDirectory.locked

    def after_another(state: StateDirectory, *given: Any, **more: Any) -> Any:
        state.descriptor_file.write_text(state.descriptor_file.read_text().replace("continued.Copy", "other.Copy"))
        return locked(state, *given, **more)

    monkeypatch.setattr(StateDirectory, "locked", after_another)
    said = shop.run()
    assert said.code == 1
    assert "another version" in said.err
    assert "other.Copy" in shop.state.descriptor_file.read_text()
    assert shop.runs == 1


def test_a_run_that_does_not_get_a_spark_leaves_the_state_as_it_was(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptor and the checkpoints stay those of the run before, also when their loss was allowed."""
    shop.run()
    before = shop.state.descriptor_file.read_text()

    def no_spark(*given: Any, **more: Any) -> Any:
        raise SessionError("there is no Java", "install one")

    monkeypatch.setattr(running, "drivers_of", no_spark)
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    said = shop.run("--allow", "state-loss")
    assert said.code == 1, said
    assert shop.state.descriptor_file.read_text() == before
    assert (shop.state.checkpoints / "copy" / "copies").exists()
