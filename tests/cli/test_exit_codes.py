"""Exit codes of each command: each code in the tables of `docs/exit-codes.md` has a test here or in `ELSEWHERE`."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow
from tests.streamlets.runner.supervision.bench import unit_id

ROOT = Path(__file__).parents[2]

ELSEWHERE = {
    ("flow run", 0): "tests/streamlets/runner/test_run.py",
    ("flow upgrade", 0): "tests/streamlets/runner/test_run.py",
    ("flow pause, resume, restart, scale", 0): "tests/cli/test_steering.py",
    ("flow sql", 0): "tests/cli/test_steering.py",
    **{("flow health", code): "tests/cli/test_health.py" for code in (0, 1, 2, 3)},
    ("flow lineage", 0): "tests/cli/test_lineage.py",
    **{
        (command, code): "tests/cli/test_export_and_diff.py"
        for command in ("flow export", "flow diff")
        for code in (0, 1, 2)
    },
    ("flow backfill", 0): "tests/benchmarks/test_backfills.py",
    **{("flow backfill", code): "tests/cli/test_backfill.py" for code in (1, 2)},
    **{("flow backfills", code): "tests/cli/test_backfill.py" for code in (0, 1, 2)},
    **{("flow sample", code): "tests/cli/test_sample.py" for code in (0, 1, 2)},
    **{("flow manifests", code): "tests/cli/test_manifests.py" for code in (0, 1, 2)},
    **{("flow ui", code): "tests/cli/ui/test_access.py" for code in (0, 1, 2)},
    ("flow put", 0): "tests/streamlets/ingress/spouts/test_programs_under_test.py",
}
"""The tests of codes that need a run."""

BLUEPRINT = """
blueprint { streamlets { mean = plant.Mean }, topics { readings { consumers = [mean.in], managed = false } } }
flow.application = plant
"""

MODULE = """
from streamlets import AvroInlet, SparkStreamlet, SparkStreamletLogic

class Mean(SparkStreamlet):
    rows = AvroInlet("in", schema={"type": "record", "name": "R", "fields": [{"name": "x", "type": "long"}]})

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            return self.query("out", self.read_stream(self.streamlet.rows).writeStream.format("noop"))
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with an application that has not run, which is the working directory."""
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    (tmp_path / "plant.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _state(app: Path) -> StateDirectory:
    return StateDirectory(app / ".flow", "plant")


def _ran(app: Path, *events: object, alive: bool = False) -> None:
    """Write the status of a run that has ended."""
    state = _state(app)
    with state.locked():
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        for event in (RunStarted(time.time(), "plant", ("mean",)), *events):
            publisher.publish(event)  # type: ignore[arg-type]
        file.write(time.time())


def test_the_tables_and_the_tests_have_the_same_codes() -> None:
    """Each documented code has a test, and each tested code is documented."""
    documented = set()
    columns: list[str] = []
    for line in (ROOT / "docs" / "exit-codes.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "code":
            columns = [cell.replace("`", "") for cell in cells[1:]]
        elif cells and cells[0].isdigit():
            documented |= {(column, int(cells[0])) for column, cell in zip(columns, cells[1:], strict=True) if cell}
    tested = {_cell(name) for name in globals() if re.fullmatch(r"test_flow_.*_\d+", name)}
    assert documented == tested | set(ELSEWHERE)
    assert all((ROOT / file).exists() for file in ELSEWHERE.values())


_COLUMNS = {
    "pause": "flow pause, resume, restart, scale",
    "scale": "flow pause, resume, restart, scale",
    "read": "flow topics, tail, checkpoints, dead-letters, spouts, tasks",
    "describe": "flow config, describe, graph",
    "list": "flow streamlets, explain",
    "write": "flow new, schema, completion, lsp",
}


def _cell(test: str) -> tuple[str, int]:
    _, _, command, code = test.split("_")
    return _COLUMNS.get(command, f"flow {command}"), int(code)


def test_flow_run_1(flow: Flow, app: Path) -> None:
    """Another run owns the state directory."""
    with _state(app).locked():
        result = flow("run")
    assert (result.code, "is already running" in result.err) == (1, True)


def test_flow_run_2(flow: Flow, app: Path) -> None:
    """The blueprint or a file of settings is wrong or missing; nothing is started."""
    for arguments in (("missing.conf",), ("--conf", "missing.conf"), ("--drain-timeout", "5"), ("flow.trigger=no",)):
        assert flow("run", *arguments).code == 2, arguments
    assert not (app / ".flow").exists()


def test_flow_run_130(flow: Flow, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user declines to confirm."""
    _ran(app)
    (_state(app).topics / "readings").mkdir()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt: "n")
    assert flow("run", "--fresh").code == 130
    assert (_state(app).topics / "readings").exists()


def test_flow_verify_0(flow: Flow, app: Path) -> None:
    """The application may run."""
    assert flow("verify").code == 0


def test_flow_verify_1(flow: Flow, app: Path) -> None:
    """There is an error."""
    assert flow("verify", "flow.trigger=no").code == 1


def test_flow_verify_2(flow: Flow, app: Path) -> None:
    """There is no blueprint or no file of settings, or the arguments are wrong."""
    assert flow("verify", "missing.conf").code == 2
    result = flow("verify", "--conf", "missing.conf")
    assert (result.code, result.out.splitlines()[0]) == (
        2, "error[file-not-found]: the settings file `missing.conf` of `--conf` does not exist",
    )  # fmt: skip
    assert flow("verify", "a", "b").code == 2


def test_flow_lineage_1(flow: Flow, app: Path) -> None:
    """There is an error."""
    assert flow("lineage", "flow.trigger=no").code == 1


def test_flow_lineage_2(flow: Flow, app: Path) -> None:
    """There is no blueprint or no such column, or the arguments are wrong."""
    for arguments in (("missing.conf",), ("readings.y",), ("readings.x", ".", "--depth", "0"), ("x", "a", "b")):
        assert flow("lineage", *arguments).code == 2, arguments


def test_flow_status_0(flow: Flow, app: Path) -> None:
    """The application is running."""
    with _state(app).locked():
        assert flow("status").code == 0


@pytest.mark.parametrize(
    "last",
    [(), (UnitChanged(1.0, unit_id("mean.out"), "failed"), RunEnded(2.0, 1, "failed for good: mean.out"))],
    ids=["died", "failed"],
)
def test_flow_status_1(flow: Flow, app: Path, last: tuple[object, ...]) -> None:
    """The last run crashed, or ended with a failure."""
    _ran(app, *last)
    assert flow("status").code == 1


def test_flow_status_2(flow: Flow, app: Path) -> None:
    """There is no such path or application, or the state directory is that of one application."""
    assert flow("status", "nowhere").code == 2
    assert flow("status", "--application", "palnt").code == 2
    (app / "blueprint.conf").unlink()
    assert flow("status").code == 2
    _ran(app)
    result = flow("status", "--state-dir", ".flow/plant")
    assert (result.code, "--state-dir takes its parent directory" in result.err) == (2, True)


def test_flow_status_3(flow: Flow, app: Path) -> None:
    """The application never ran, and has its name from the blueprint; or its last run ended normally."""
    result = flow("status")
    assert (result.code, result.out, result.err) == (3, "plant has not run yet\n", "")
    result = flow("status", "--format", "json")
    assert (result.code, json.loads(result.out)) == (
        3, {"plant": {"alive": False, "silent": False, "health": "never ran", "streamlets": []}},
    )  # fmt: skip
    assert flow("status", "--application", "plant", "--state-dir", str(app / "elsewhere")).code == 3
    _ran(app, RunEnded(2.0, 0, ""))
    assert flow("status").code == 3


def test_flow_stop_0(flow: Flow, app: Path) -> None:
    """The application never ran."""
    result = flow("stop")
    assert (result.code, result.out, result.err) == (0, "plant is not running\n", "")
    assert '"application": "plant", "result": "not-running"' in flow("stop", "--format", "jsonl").out


def test_flow_stop_1(flow: Flow, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run crashed before it had stopped, so its status has no end."""
    state = _state(app)
    _ran(app)
    owner = state.locked()
    owner.__enter__()
    monkeypatch.setattr("cli.commands.stop.send", lambda *_, **__: owner.__exit__(None, None, None))
    assert flow("stop").code == 1


def test_flow_stop_2(flow: Flow, app: Path) -> None:
    """The arguments are wrong."""
    assert flow("stop", "--timeout", "soon").code == 2


STEERING: dict[str, tuple[str, ...]] = {"pause": (), "resume": (), "restart": (), "scale": ("2",)}
"""Commands about a streamlet, with what follows its name."""


@pytest.mark.parametrize("command", STEERING)
def test_flow_pause_1(flow: Flow, app: Path, command: str) -> None:
    """The application is not running, or has never run."""
    for state in ("has not run yet", "is not running"):
        result = flow(command, "mean", *STEERING[command])
        assert (result.code, result.err.splitlines()[0]) == (1, f"error: plant {state}")
        _ran(app, RunEnded(2.0, 0, ""))


@pytest.mark.parametrize("command", STEERING)
def test_flow_pause_2(flow: Flow, app: Path, command: str) -> None:
    """There is no such streamlet."""
    _ran(app, UnitChanged(1.0, unit_id("mean.out"), "running"))
    assert flow(command, "maen", *STEERING[command]).code == 2


@pytest.mark.parametrize("replicas", ["0", "10000", "two", "1.5", ""])
def test_flow_scale_2(flow: Flow, app: Path, replicas: str) -> None:
    """The number is not one that a blueprint may have; nothing is sent to the run."""
    _ran(app, UnitChanged(1.0, unit_id("mean.out"), "running"))
    result = flow("scale", "mean", replicas)
    assert result.code == 2
    assert f"must be a whole number from 1 to 1,000, found `{replicas}`" in result.err


def test_flow_sql_1(flow: Flow, app: Path) -> None:
    """The application is not running, or has never run."""
    for _ in range(2):
        result = flow("sql", "-e", "SHOW STREAMS")
        assert (result.code, result.err.splitlines()[0]) == (1, "error: plant is not running")
        _ran(app, RunEnded(2.0, 0, ""))


def test_flow_sql_2(flow: Flow, app: Path) -> None:
    """The statements are wrong."""
    for text in ("", "SHOW STREAM", "STOP STREAM", "SELECT 1", "STOP STREAM a; SAVE STREAM a TO console", "é;;"):
        assert flow("sql", "-e", text).code == 2, text


def test_flow_upgrade_1(flow: Flow, app: Path) -> None:
    """The application is not running."""
    result = flow("upgrade")
    assert (result.code, result.err.splitlines()[0]) == (1, "error: plant is not running in .flow/plant")


def test_flow_upgrade_2(flow: Flow, app: Path) -> None:
    """The arguments are wrong."""
    assert flow("upgrade", "--allow", "everything").code == 2
    assert flow("upgrade", "nowhere").code == 2


READERS = (("topics",), ("tail", "readings"), ("checkpoints",), ("dead-letters",))


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_flow_read_0(flow: Flow, app: Path, command: tuple[str, ...]) -> None:
    """The output is shown, also for an empty topic."""
    _ran(app)
    DeltaChannel(_state(app).topics).topic(TopicPlan("readings", "readings", "delta", True, (), (), {})).create()
    assert flow(*command).code == 0


def test_flow_read_1(flow: Flow, app: Path) -> None:
    """The application is running, so its checkpoints cannot be reset."""
    checkpoint = _state(app).checkpoints / "mean" / "out"
    checkpoint.mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"0"}')
    with _state(app).locked():
        assert flow("checkpoints", "reset", "mean", "--yes").code == 1


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_flow_read_2(flow: Flow, app: Path, command: tuple[str, ...]) -> None:
    """The application has not run; a directory of something else is not taken for its state."""
    result = flow(*command)
    assert (result.code, "plant has not run yet" in result.err) == (2, True)
    shutil.copytree(ROOT / "docs" / "decisions", app / ".flow" / "decisions")
    result = flow(*command)
    assert (result.code, "plant has not run yet" in result.err) == (2, True)


def test_flow_describe_0(flow: Flow, app: Path) -> None:
    """The output is shown."""
    assert [flow(command).code for command in ("config", "describe", "graph")] == [0, 0, 0]


def test_flow_describe_1(flow: Flow, app: Path) -> None:
    """The graph has errors, but is drawn; or a file cannot be read."""
    assert flow("graph", "flow.trigger=no").code == 1
    (app / "blueprint.conf").write_text("blueprint {")
    assert flow("config").code == 1


def test_flow_describe_2(flow: Flow, app: Path) -> None:
    """There is no blueprint or file of settings; for `describe`, there is an error."""
    for command in ("config", "describe", "graph"):
        assert flow(command, "missing.conf").code == 2
        assert flow(command, "--conf", "missing.conf").code == 2
    assert flow("describe", "flow.trigger=no").code == 2


def test_flow_list_0(flow: Flow, app: Path) -> None:
    """The classes are listed; the code is explained."""
    assert flow("streamlets").code == 0
    assert flow("explain", "syntax").code == 0


def test_flow_list_1(flow: Flow, app: Path) -> None:
    """A class cannot be described."""
    (app / "plant.py").write_text(MODULE.replace('AvroInlet("in"', 'AvroInlet("in", 3'))
    assert flow("streamlets").code == 1


def test_flow_list_2(flow: Flow, app: Path) -> None:
    """There is no such directory or code."""
    assert flow("streamlets", "nowhere").code == 2
    assert flow("explain", "sintax-of-nothing").code == 2


def test_flow_doctor_0(flow: Flow, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing prevents a run."""
    _java(app, "17")
    monkeypatch.setenv("JAVA_HOME", str(app / "java"))
    assert flow("doctor").code == 0


def test_flow_doctor_1(flow: Flow, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java is too old."""
    _java(app, "1.8")
    monkeypatch.setenv("JAVA_HOME", str(app / "java"))
    assert flow("doctor").code == 1


def test_flow_doctor_2(flow: Flow, app: Path) -> None:
    """There is no such blueprint."""
    assert flow("doctor", "lost.conf").code == 2


def test_flow_write_0(flow: Flow, app: Path) -> None:
    """The project, the schema and the script are written."""
    assert [flow(*command).code for command in (("new", "shop"), ("schema",), ("completion", "bash"))] == [0, 0, 0]


def test_flow_write_1(flow: Flow, app: Path) -> None:
    """The project would be below a file."""
    assert flow("new", "plant.py/shop").code == 1


def test_flow_write_2(flow: Flow, app: Path) -> None:
    """The directory is not empty, or the shell is not known."""
    (app / "shop").mkdir()
    (app / "shop" / "file").touch()
    assert flow("new", "shop").code == 2
    assert flow("completion", "dos").code == 2


def test_flow_put_1(flow: Flow, app: Path) -> None:
    """The command does not run in a spout."""
    result = flow("put", "out", "-f", "blueprint.conf")
    assert (result.code, "was not started by a spout" in result.err) == (1, True)


def test_flow_put_2(flow: Flow, app: Path) -> None:
    """The file does not exist, or the marker is not JSON."""
    assert flow("put", "out", "-f", "missing").code == 2
    assert flow("put", "out", "-f", "blueprint.conf", "--marker", "{").code == 2


def _java(app: Path, version: str) -> None:
    """Create a Java that shows a version."""
    java = app / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
