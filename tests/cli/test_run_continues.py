"""`flow run` on the state of an earlier run: it continues, or stops before Spark starts."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro import parse_contract
from streamlets.runner import run as running
from streamlets.runner.hosts import HostContext
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import stored_topics
from streamlets.spark.session import SessionError
from tests.cli.conftest import Flow, Result
from tests.pages import blocks
from tests.streamlets.channels.topics import append
from tests.streamlets.runner.hosts import hosts_of

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
    """An application whose blueprint changes, run without Spark; each run leaves the state of a real one."""

    def __init__(self, flow: Flow, directory: Path) -> None:
        self.directory = directory
        self.state = StateDirectory(directory / ".flow", "shop")
        self.runs = 0
        self._flow = flow
        (directory / "continued.py").write_text(_MODULE)
        self.become(_BLUEPRINT.replace("COPY", "copy"))

    def become(self, blueprint: str) -> None:
        """Replace the blueprint."""
        (self.directory / "blueprint.conf").write_text(blueprint)

    def run(self, *arguments: str) -> Result:
        """Run `flow run` on the application."""
        return self._flow("run", str(self.directory), *arguments)

    def hosts(self, context: HostContext, isolation: object) -> Any:
        """Replace Spark: create the checkpoints of a run, without units to supervise."""
        self.runs += 1

        def stop() -> None:
            for streamlet in context.plan.streamlets:
                for outlet in streamlet.outlets:
                    checkpoint(context.state, streamlet.ref, outlet.name)

        return hosts_of(stop=stop)


def checkpoint(state: StateDirectory, streamlet: str, query: str, *, planned: int = 0) -> Path:
    """Create a checkpoint whose batch 0 is committed, and return its directory.

    Arguments:
        state: the state directory of the application.
        streamlet: its name.
        query: the name of the query.
        planned: the number of the last planned batch.
    """
    directory = state.checkpoints / streamlet / query
    for name in ("offsets", "commits"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    (directory / "metadata").write_text('{"id": "1"}')
    (directory / "commits" / "0").write_text("v1\n{}")
    for batch in range(planned + 1):
        (directory / "offsets" / str(batch)).write_text('v2\n{"batchWatermarkMs":0,"conf":{}}\nrows:{}')
    return directory


@pytest.fixture
def shop(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """An application that has not run yet."""
    shop = Shop(flow, tmp_path)
    monkeypatch.setattr(running, "open_hosts", shop.hosts)
    return shop


def _described(shop: Shop) -> set[str]:
    return set(json.loads(shop.state.descriptor_file.read_text())["streamlets"])


def test_an_unchanged_application_continues_silently(shop: Shop) -> None:
    """The first run has nothing to compare with; the second has no changes."""
    for _ in range(2):
        result = shop.run()
        assert (result.code, result.err) == (0, "")
    assert shop.runs == 2


def test_a_terminal_shows_what_was_checked(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sees that the verification is over, and how many warnings it has; programs get events only."""
    assert "checked 2 streamlets" not in shop.run().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "blueprint.conf: 1 warning; checked 2 streamlets" in shop.run("--format", "lines").out
    assert "checked 2 streamlets" not in shop.run("--format", "jsonl").out


def test_safe_changes_continue(shop: Shop) -> None:
    """A changed parameter and a new streamlet are safe."""
    shop.become(_WITHOUT_COPY)
    assert shop.run().code == 0
    shop.become(_BLUEPRINT.replace("COPY", "copy"))
    result = shop.run("flow.streamlets.source.parameters.pace=2")
    assert (result.code, result.err) == (0, "")


def test_a_renamed_streamlet_stops_before_spark_starts(shop: Shop) -> None:
    """It would read and write everything again; the findings report it, and the descriptor is unchanged."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    result = shop.run()
    assert result.code == 2
    assert "error[change-streamlet-renamed]" in result.err
    assert "copy.copies" in result.err
    assert "--allow state-loss" in result.err
    assert shop.runs == 1
    assert _described(shop) == {"source", "copy"}
    assert shop.run("--allow", "drain").code == 2


def test_the_refusal_on_the_page_about_upgrades(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """`docs/upgrades.md` shows its first line and its last ones."""
    monkeypatch.setenv("COLUMNS", "200")
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    (block,) = blocks("docs/upgrades.md", "text")
    first, last = block.split("...\n")
    printed = shop.run().err
    assert printed.startswith(first) and printed.endswith(last)


def test_later_runs_are_compared_with_an_allowed_change(shop: Shop) -> None:
    """The lost checkpoints are reset and named. The next run has no changes; the old name is a change."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    result = shop.run("--allow", "state-loss")
    assert result.code == 0
    assert "warning[change-streamlet-renamed]" in result.err
    assert "copy.copies" in result.err
    assert not (shop.state.checkpoints / "copy" / "copies").exists()
    assert (shop.state.checkpoints / "source" / "rows").exists()
    assert _described(shop) == {"source", "twin"}
    assert shop.run().err == ""
    shop.become(_BLUEPRINT.replace("COPY", "copy"))
    assert shop.run().code == 2


def test_a_drain_is_needed_after_an_unfinished_batch(shop: Shop) -> None:
    """A change that needs a drain continues with a warning if each query ended after a commit, and not otherwise."""
    shop.run()
    shop.become(_WITHOUT_COPY)
    planned = checkpoint(shop.state, "copy", "copies", planned=1)
    result = shop.run()
    assert result.code == 2
    assert "error[change-streamlet-removed]" in result.err
    assert "`copy.copies`" in result.err
    assert "--allow drain" in result.err
    (planned / "commits" / "1").write_text("v1\n{}")
    result = shop.run()
    assert result.code == 0
    assert "warning[change-streamlet-removed]" in result.err


def test_state_without_a_descriptor_is_not_continued(shop: Shop) -> None:
    """The version that created it is unknown, so loss of state is assumed, and can be allowed."""
    checkpoint(shop.state, "copy", "copies")
    result = shop.run()
    assert result.code == 2
    text = " ".join(result.err.split())
    assert "has no descriptor of the version that created" in text
    assert "--allow state-loss" in text
    assert shop.run("--allow", "state-loss").code == 0
    assert (shop.state.checkpoints / "copy" / "copies").exists()
    assert shop.run().code == 0


@pytest.mark.parametrize("text", ["", '{"version": 1, "appl', '{"version": 99, "streamlets": {}, "topics": {}}'])
def test_a_damaged_descriptor_is_not_continued(shop: Shop, text: str) -> None:
    """It is reported with its file; a run with `--allow state-loss` replaces it."""
    shop.run()
    shop.state.descriptor_file.write_text(text)
    result = shop.run()
    assert result.code == 2
    assert "descriptor.json" in result.err
    assert shop.run("--allow", "drain").code == 2
    assert shop.run("--allow", "state-loss").code == 0
    assert shop.run().code == 0


def test_a_descriptor_without_checkpoints_and_records_is_nothing_to_continue(shop: Shop) -> None:
    """A run that failed before its first query started has no state that a change could lose."""
    shop.run()
    for directory in shop.state.checkpoints.iterdir():
        directory.rename(shop.directory / directory.name)
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    assert shop.run().code == 0


@pytest.mark.parametrize("queries", [True, False])
def test_a_topic_of_a_channel_that_is_not_installed_is_compared(shop: Shop, *, queries: bool) -> None:
    """Its records cannot be read, and on another channel they would all be written again."""
    shop.run()
    if not queries:  # as of spouts
        shutil.rmtree(shop.state.checkpoints)
    described = json.loads(shop.state.descriptor_file.read_text())
    described["topics"]["rows"]["channel"] = "ledger"
    shop.state.descriptor_file.write_text(json.dumps(described))
    result = shop.run()
    assert (result.code, shop.runs) == (2, 1)
    assert "error[change-topic-moved]" in result.err
    assert "--allow state-loss" in result.err
    assert shop.run("--allow", "state-loss").code == 0


def test_fresh_compares_with_nothing(shop: Shop) -> None:
    """All state is deleted, including the descriptor."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    assert shop.run("--fresh", "--yes").code == 0
    assert _described(shop) == {"source", "twin"}
    with shop.state.locked():
        shop.state.clear()
    assert not shop.state.descriptor_file.exists()


def test_a_running_application_is_left_alone(shop: Shop) -> None:
    """The error is that it is running; its planned batches are not compared."""
    shop.run()
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    checkpoint(shop.state, "copy", "copies", planned=1)
    with shop.state.locked():
        result = shop.run()
    assert result.code == 1
    assert "is already running" in result.err
    assert "change-" not in result.err


def test_a_change_by_another_run_after_the_comparison_is_detected(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the comparison and the lock another version may have run, so that the comparison is no longer valid."""
    shop.run()

    locked = StateDirectory.locked

    def change_and_lock(state: StateDirectory, *args: Any, **kwargs: Any) -> Any:
        state.descriptor_file.write_text(state.descriptor_file.read_text().replace("continued.Copy", "other.Copy"))
        return locked(state, *args, **kwargs)

    monkeypatch.setattr(StateDirectory, "locked", change_and_lock)
    result = shop.run()
    assert result.code == 1
    assert "another version" in result.err
    assert "other.Copy" in shop.state.descriptor_file.read_text()
    assert shop.runs == 1


def test_a_run_without_spark_leaves_the_state_unchanged(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The descriptor and the checkpoints are those of the previous run, even if their loss was allowed."""
    shop.run()
    before = shop.state.descriptor_file.read_text()

    def no_spark(*args: Any, **kwargs: Any) -> Any:
        raise SessionError("there is no Java", "install one")

    monkeypatch.setattr(running, "open_hosts", no_spark)
    shop.become(_BLUEPRINT.replace("COPY", "twin"))
    result = shop.run("--allow", "state-loss")
    assert result.code == 1, result
    assert shop.state.descriptor_file.read_text() == before
    assert (shop.state.checkpoints / "copy" / "copies").exists()


def test_records_that_can_no_longer_be_read_stop_the_run(shop: Shop) -> None:
    """A reader of another type would fail with each batch: the run is refused before Spark starts. An empty topic
    refuses nothing."""
    shop.run()
    (rows,) = (topic for topic in stored_topics(shop.state) if topic.plan.name == "rows")
    described = json.loads(shop.state.descriptor_file.read_text())
    contract = parse_contract(json.dumps(described["streamlets"]["source"]["outlets"]["rows"]["schema"]))
    append(rows, [pa.RecordBatch.from_pydict({"id": [1]})], contract, 0, writer="source")
    sys.modules.pop("continued", None)  # as in a process of its own
    (shop.directory / "continued.py").write_text(_MODULE.replace("id long not null", "id string not null"))
    result = shop.run()
    assert (result.code, shop.runs) == (2, 1)
    assert "error[change-schema]" in result.err
    assert "--allow breaking" in result.err


def test_plans_compare_the_queries_too(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--plans` builds the logic first; a finding of it refuses the run."""
    from blueprint.diagnostics import Span, finding
    from blueprint.logic import BuiltLogic
    from streamlets import plans

    built = []

    def check(application: Any) -> BuiltLogic:
        built.append(application.name)
        return BuiltLogic((finding("plan-refused", "`copy` is refused", Span("blueprint.conf", 3, 3, 3, 4)),))

    monkeypatch.setattr(plans, "check_logic", check)
    assert shop.run().code == 0
    assert built == []
    result = shop.run("--plans")
    assert (result.code, shop.runs, len(built)) == (2, 1, 1)
    assert "`copy` is refused" in result.err
