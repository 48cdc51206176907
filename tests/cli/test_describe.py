"""`flow describe`, and `flow verify --against` what it wrote."""

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
    """The sensors, described in a file."""
    file = tmp_path / "old.json"
    assert flow("describe", SENSORS, "-o", str(file)).code == 0
    return file


def test_a_description_is_data_and_the_same_each_time(flow: Flow, described: Path) -> None:
    """One JSON document on the standard output, to the byte what `-o` writes, and nothing beside it is left."""
    said = flow("describe", SENSORS)
    assert said.code == 0
    assert said.out == described.read_text(encoding="utf-8")
    document = json.loads(said.out)
    assert document["version"] == 1
    assert document["application"] == "sensors"
    assert sorted(document["streamlets"]) == ["average", "console", "sensors"]
    assert document["streamlets"]["average"]["inlets"]["readings"]["schema"]["type"] == "record"
    assert document["topics"]["readings"]["consumers"] == ["average.readings"]
    assert [each.name for each in described.parent.iterdir()] == ["old.json"]


def test_queries_are_told_where_the_logic_is_built(
    flow: Flow, described: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--plans` the queries stand in the file, and are compared with those of a newer version."""
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
    said = flow("verify", SENSORS, "--plans", "--against", str(described), "--format", "concise")
    assert said.code == 1
    assert "error[change-query-removed]: the query `console.sums` is gone (state-loss)" in said.out
    assert flow("verify", SENSORS, "--against", str(described)).code == 0  # without logic nobody knows


def test_without_java_no_queries_are_described(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written that only looks whole."""
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    said = flow("describe", SENSORS, "--plans")
    assert (said.code, said.out) == (2, "")
    assert "JAVA_HOME is /no/such/folder" in said.err


def test_against_itself_there_is_nothing(flow: Flow, described: Path) -> None:
    """The same application has no change."""
    said = flow("verify", SENSORS, "--against", str(described))
    assert said.code == 0
    assert "no findings" in said.out
    assert "0 changes against" in said.out


def test_the_exit_code_is_by_the_worst_class_allowed(flow: Flow, described: Path) -> None:
    """What takes more than is allowed is an error; what is allowed a warning; what is safe a note."""
    calls = {
        (): (1, "error", "note"),
        ("--allow", "drain"): (1, "error", "note"),
        ("--allow", "state-loss"): (0, "warning", "note"),
    }
    for allowed, expected in calls.items():
        said = flow("verify", SENSORS, RENAMED, FASTER, "--against", str(described), "--format", "json", *allowed)
        found = {each["code"]: each for each in json.loads(said.out)["diagnostics"]}
        moved, parameter = found["change-topic-moved"], found["change-parameter"]
        assert (said.code, moved["severity"], parameter["severity"]) == expected
        assert (moved["class"], parameter["class"]) == ("state-loss", "safe")


def test_a_run_is_compared_by_its_state_directory(flow: Flow, described: Path) -> None:
    """The folder of an application's state, or the one that holds it, stands for what last ran there."""
    state = described.parent / ".flow" / "sensors"
    state.mkdir(parents=True)
    described.rename(state / "descriptor.json")
    for folder in (state, state.parent):
        said = flow("verify", SENSORS, FASTER, "--against", str(folder))
        assert said.code == 0
        assert "1 change against" in said.out


def test_what_cannot_be_compared_with_is_said(flow: Flow, tmp_path: Path) -> None:
    """No file, and no descriptor in a folder, are mistakes in the arguments; a file that is none is a finding."""
    assert flow("verify", SENSORS, "--against", str(tmp_path / "nothing.json")).code == 2
    said = flow("verify", SENSORS, "--against", str(tmp_path))
    assert said.code == 2
    assert "holds no descriptor" in said.err
    (tmp_path / "old.json").write_text("[]", encoding="utf-8")
    said = flow("verify", SENSORS, "--against", str(tmp_path / "old.json"))
    assert said.code == 1
    assert "error[descriptor]" in said.out
    assert "not checked: the streamlets' logic and what changes against" in " ".join(said.out.split())


def test_errors_come_first(flow: Flow, described: Path) -> None:
    """An application that does not verify is neither described nor compared; its findings are told."""
    wrong = "flow.streamlets.average.parameters.window=soon"
    said = flow("describe", SENSORS, wrong)
    assert (said.code, said.out) == (2, "")
    assert "`soon`" in said.err
    said = flow("verify", SENSORS, wrong, "--against", str(described), "--format", "json")
    assert said.code == 1
    assert json.loads(said.out)["checked"]["changes"] is None


def test_a_place_that_cannot_be_written_is_said(flow: Flow, tmp_path: Path) -> None:
    """A file below no folder is an error with its name."""
    said = flow("describe", SENSORS, "-o", str(tmp_path / "no" / "old.json"))
    assert said.code == 1
    assert "old.json" in said.err
