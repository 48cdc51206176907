"""`flow describe`, and `flow verify --against` its descriptor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.comparison import DescribedQuery
from blueprint.comparison.descriptor import BuiltQuery
from blueprint.logic import BuiltLogic

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
SENSORS = str(EXAMPLES / "sensors")
RENAMED = "flow.topics.readings.topic.name=raw"
FASTER = "flow.streamlets.sensors.parameters.records-per-second=99"


@pytest.fixture
def described(flow: Flow, tmp_path: Path) -> Path:
    """A file with the descriptor of the sensors example."""
    file = tmp_path / "old.json"
    assert flow("describe", SENSORS, "-o", str(file)).code == 0
    return file


def test_the_descriptor_is_json_and_reproducible(flow: Flow, described: Path) -> None:
    """The standard output has exactly the JSON that `-o` writes, and no temporary file remains."""
    result = flow("describe", SENSORS)
    assert result.code == 0
    assert result.out == described.read_text(encoding="utf-8")
    document = json.loads(result.out)
    assert document["version"] == 1
    assert document["application"] == "sensors"
    assert sorted(document["streamlets"]) == ["average", "console", "sensors"]
    assert document["streamlets"]["average"]["inlets"]["readings"]["schema"]["type"] == "record"
    assert document["topics"]["readings"]["consumers"] == ["average.readings"]
    assert [file.name for file in described.parent.iterdir()] == ["old.json"]


def test_queries_are_described_when_the_logic_is_built(
    flow: Flow, described: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--plans` the descriptor has the queries, which are compared with those of a newer version."""
    logic = {"report": DescribedQuery(("averages",)), "sums": DescribedQuery(("averages",), ("stateStoreSave",))}

    def built(*names: str) -> None:
        queries = {"console": {name: BuiltQuery(logic[name]) for name in names}}
        monkeypatch.setattr("streamlets.plans.check_logic", lambda application: BuiltLogic((), queries))

    built("report", "sums")
    assert flow("describe", SENSORS, "--plans", "-o", str(described)).code == 0
    streamlets = json.loads(described.read_text(encoding="utf-8"))["streamlets"]
    assert streamlets["console"]["queries"]["sums"] == {"sources": ["averages"], "operators": ["stateStoreSave"]}
    assert "queries" not in streamlets["average"]
    assert flow("verify", SENSORS, "--plans", "--against", str(described)).code == 0
    built("report")
    result = flow("verify", SENSORS, "--plans", "--against", str(described), "--format", "concise")
    assert result.code == 1
    assert "error[change-query-removed]: the query `console.sums` was removed (state-loss)" in result.out
    assert flow("verify", SENSORS, "--against", str(described)).code == 0  # Without the logic, the queries are unknown.


def test_without_java_no_queries_are_described(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """An incomplete descriptor is not written."""
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    result = flow("describe", SENSORS, "--plans")
    assert (result.code, result.out) == (2, "")
    assert "JAVA_HOME is /no/such/folder" in result.err


def test_an_unchanged_application_has_no_changes(flow: Flow, described: Path) -> None:
    """The summary counts the changes."""
    result = flow("verify", SENSORS, "--against", str(described))
    assert result.code == 0
    assert "no findings" in result.out
    assert "0 changes against" in result.out


def test_the_exit_code_depends_on_the_allowed_class(flow: Flow, described: Path) -> None:
    """A change that is not allowed is an error, an allowed one a warning, a safe one a note."""
    calls = {
        (): (1, "error", "note"),
        ("--allow", "drain"): (1, "error", "note"),
        ("--allow", "state-loss"): (0, "warning", "note"),
    }
    for allowed, expected in calls.items():
        result = flow("verify", SENSORS, RENAMED, FASTER, "--against", str(described), "--format", "json", *allowed)
        findings = {finding["code"]: finding for finding in json.loads(result.out)["diagnostics"]}
        moved, parameter = findings["change-topic-moved"], findings["change-parameter"]
        assert (result.code, moved["severity"], parameter["severity"]) == expected
        assert (moved["class"], parameter["class"]) == ("state-loss", "safe")


def test_a_run_is_compared_by_its_state_directory(flow: Flow, described: Path) -> None:
    """The state directory of an application, or its parent directory, names the version that last ran."""
    state = described.parent / ".flow" / "sensors"
    state.mkdir(parents=True)
    described.rename(state / "descriptor.json")
    for directory in (state, state.parent):
        result = flow("verify", SENSORS, FASTER, "--against", str(directory))
        assert result.code == 0
        assert "1 change against" in result.out


def test_invalid_arguments_of_against(flow: Flow, tmp_path: Path) -> None:
    """A missing file or descriptor is a usage error; a file that is not a descriptor is a finding."""
    assert flow("verify", SENSORS, "--against", str(tmp_path / "nothing.json")).code == 2
    result = flow("verify", SENSORS, "--against", str(tmp_path))
    assert result.code == 2
    assert "has no descriptor" in result.err
    (tmp_path / "old.json").write_text("[]", encoding="utf-8")
    result = flow("verify", SENSORS, "--against", str(tmp_path / "old.json"))
    assert result.code == 1
    assert "error[descriptor]" in result.out
    assert "not checked: the streamlets' logic and changes against" in " ".join(result.out.split())


def test_an_application_with_errors_is_not_described(flow: Flow, described: Path) -> None:
    """It is not compared either; its findings are reported."""
    wrong = "flow.streamlets.average.parameters.window=soon"
    result = flow("describe", SENSORS, wrong)
    assert (result.code, result.out) == (2, "")
    assert "`soon`" in result.err
    result = flow("verify", SENSORS, wrong, "--against", str(described), "--format", "json")
    assert result.code == 1
    assert json.loads(result.out)["checked"]["changes"] is None


def test_a_file_that_cannot_be_written_is_reported(flow: Flow, tmp_path: Path) -> None:
    """The error names the file, whose directory does not exist."""
    result = flow("describe", SENSORS, "-o", str(tmp_path / "no" / "old.json"))
    assert result.code == 1
    assert "old.json" in result.err


def test_arguments_are_checked_before_the_logic_is_built(
    flow: Flow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A state directory without the application is refused before Spark starts."""
    built: list[object] = []
    monkeypatch.setattr("streamlets.plans.check_logic", built.append)
    path = Path(__file__).parents[2] / "examples" / "sensors"
    result = flow("describe", "--plans", "--state-dir", str(tmp_path / "none"), str(path))
    assert (result.code, built) == (2, [])
    assert "has no state of the application" in result.err
