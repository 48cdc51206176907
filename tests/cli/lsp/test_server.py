"""`flow lsp`, driven over its standard input and output as an editor does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprint.diagnostics import Span
from cli.lsp.positions import character_of, column_of, range_of
from tests.cli.conftest import Flow
from tests.cli.lsp.editor import Editor

BLUEPRINT = """\
blueprint {
  streamlets {
    gauges { class = weather.Gauges, parameters.rate = 5 }
    alarm  { class = weather.Alarm, inlets.readings.max-records = 10 }
  }
  topics {
    readings { producers = [gauges.readings], consumers = [alarm.readings] }
  }
}
flow.streamlets.alarm.retry.enabled = false   # 🌡 and ä
flow.streamlets.gauges.parameters.password = hush
"""
MODULE = '''\
from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic, StringParameter

print("a module may print")


class Nothing(SparkStreamletLogic):
    def build_streaming_queries(self):
        return []


class Gauges(SparkStreamlet):
    """Reads the gauges."""

    readings = AvroOutlet(schema="schemas/Reading.avsc")
    rate = IntegerParameter("Readings per second", default=1)
    password = StringParameter("Of the gauges", default="")
    Logic = Nothing


class Alarm(SparkStreamlet):
    """Keeps high readings."""

    readings = AvroInlet(schema="schemas/Reading.avsc")
    Logic = Nothing
'''
SCHEMA = """\
{"type": "record", "name": "Reading", "doc": "What a gauge shows", "fields": [
  {"name": "gauge", "type": "string", "doc": "Its name"}, {"name": "celsius", "type": "double", "default": 0}]}
"""
LINES = BLUEPRINT.split("\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a project, and return its blueprint."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "Reading.avsc").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "weather.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT, encoding="utf-8")
    return tmp_path / "blueprint.conf"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """Return an editor with one server for the projects of all tests."""
    with Editor(tmp_path_factory.mktemp("editor")) as editor:
        yield editor


@pytest.fixture
def editor(server: Editor, project: Path) -> Iterator[Editor]:
    """Return the editor with the open blueprint, after its first findings."""
    server.open(project)
    assert server.findings(project) == []
    yield server
    server.close(project)


def place(text: str, offset: int = 1) -> tuple[int, int]:
    """Return the line and character of a text of the blueprint."""
    line = next(number for number, content in enumerate(LINES) if text in content)
    return line, LINES[line].index(text) + offset


def text_of(range_: dict[str, Any], lines: list[str]) -> str:
    """Return the text of a range on one line."""
    assert range_["start"]["line"] == range_["end"]["line"]
    first, last = int(range_["start"]["character"]), int(range_["end"]["character"])
    return lines[int(range_["start"]["line"])][first:last]


def labels(editor: Editor, file: Path, line: int, character: int) -> list[str]:
    """Return what the editor proposes at a place, the best first."""
    items = editor.ask("textDocument/completion", editor.at(file, line, character))["items"]
    return [item["label"] for item in sorted(items, key=lambda item: item["sortText"])]


def test_findings_follow_what_is_typed(editor: Editor, project: Path) -> None:
    """A mistake appears and disappears with the unsaved text; the file is not changed."""
    line, character = place("alarm.readings", 6)
    editor.type(project, line, character, "redings", replacing=8)
    (finding,) = [found for found in editor.findings(project) if found["code"] == "unknown-port"]
    assert (finding["severity"], finding["source"]) == (1, "Streamlets")
    assert "did you mean `alarm.readings`?" in finding["message"]
    editor.type(project, line, character, "readings", replacing=7)
    assert editor.findings(project) == []
    assert project.read_text(encoding="utf-8") == BLUEPRINT


def test_a_finding_offers_its_fix(editor: Editor, project: Path) -> None:
    """The fix of `flow verify --fix` as an edit; one that guesses a name says so."""
    line, character = place("[gauges.readings]", 0)
    editor.type(project, line, character, "gauges.readings", replacing=len("[gauges.readings]"))
    (finding,) = editor.findings(project)
    request = {"textDocument": {"uri": project.as_uri()}, "range": finding["range"], "context": {"diagnostics": []}}
    (action,) = editor.ask("textDocument/codeAction", request)
    (edit,) = action["edit"]["changes"][project.as_uri()]
    assert (action["kind"], action["isPreferred"], edit["newText"]) == ("quickfix", True, "[gauges.readings]")
    line, character = place("alarm.readings", 6)
    editor.type(project, line, character - 2, "redings", replacing=8)
    finding = next(found for found in editor.findings(project) if found["code"] == "unknown-port")
    (action,) = editor.ask("textDocument/codeAction", {**request, "range": finding["range"]})
    assert (action["isPreferred"], "(a guess)" in action["title"]) == (False, True)


def test_classes_ports_parameters_and_settings_are_proposed(editor: Editor, project: Path) -> None:
    """What fits the place, with docs; ports that are not connected come first."""
    assert labels(editor, project, *place("weather.Gauges", 8)) == ["weather.Alarm", "weather.Gauges"]
    assert "streamlets.Sink" in labels(editor, project, *place("weather.Gauges", 0))
    assert labels(editor, project, *place("[gauges.readings", 1)) == ["gauges.readings"]
    assert labels(editor, project, *place("[alarm.readings", 1)) == ["alarm.readings"]
    assert labels(editor, project, *place("parameters.rate", 11)) == ["password", "rate"]
    assert "blueprint" in labels(editor, project, 0, 0)
    assert labels(editor, project, *place("enabled = false", 10)) == ["false", "true"]
    items = editor.ask("textDocument/completion", editor.at(project, *place("parameters.rate", 11)))["items"]
    rate = next(item for item in items if item["label"] == "rate")
    assert (rate["detail"], rate["documentation"]["value"]) == ("integer, default: 1", "Readings per second")
    settings = editor.ask("textDocument/completion", editor.at(project, *place("alarm.retry", 6)))["items"]
    assert {"retry", "trigger", "group", "parameters"} <= {item["label"] for item in settings}


def test_keys_and_codes_are_proposed_below_flow(editor: Editor, project: Path) -> None:
    """Names of streamlets and topics, codes of findings and their levels."""
    for typed, expected in {
        "flow.streamlets.": "gauges",
        "flow.topics.": "readings",
        "flow.verify.rules.": "unknown-port",
        "flow.verify.rules.cycle = ": "warning",
        "flow.isolation = ": "process",
        "blueprint.topics.readings.": "producers",
        "blueprint.topics.readings.channel = d": "delta",
    }.items():
        last = len(LINES) - 1
        editor.type(project, last, 0, typed)
        assert expected in labels(editor, project, last, len(typed)), typed
        editor.type(project, last, 0, "", replacing=len(typed))


def test_a_class_is_described_when_it_is_selected(editor: Editor, project: Path) -> None:
    """Its description and ports are read then, because that imports its module."""
    items = editor.ask("textDocument/completion", editor.at(project, *place("weather.Gauges", 8)))["items"]
    gauges = next(item for item in items if item["label"] == "weather.Gauges")
    assert "documentation" not in gauges
    resolved = editor.ask("completionItem/resolve", gauges)
    assert resolved["documentation"]["value"] == "Reads the gauges.\n\n* outlet `readings`: record Reading"


def test_hover_shows_classes_schemas_and_effective_values(editor: Editor, project: Path) -> None:
    """The value that wins, where it was set, and the schema of a port; never a secret."""

    def hover(text: str, offset: int = 1) -> str:
        return str(editor.ask("textDocument/hover", editor.at(project, *place(text, offset)))["contents"]["value"])

    assert "streamlet of the class `weather.Alarm`\n\nKeeps high readings." in hover("alarm  {")
    assert f"flow.streamlets.alarm.retry.enabled = false  # {project}:10" in hover("alarm  {")
    port = hover("gauges.readings", 8)
    assert "**gauges.readings**, outlet" in port
    assert "What a gauge shows" in port
    assert "| `celsius` | double | has a default |" in port
    assert "Readings per second" in hover("parameters.rate", 12)
    assert f"parameters.rate = 5  # {project}:3" in hover("parameters.rate", 12)
    assert "How many records a batch reads" in hover("max-records")
    topic = hover("readings { producers")
    assert "* written by `gauges.readings`\n* read by `alarm.readings`" in topic
    assert "hush" not in hover("parameters.password = hush", 12) + hover("gauges {")


def test_definitions_lead_to_python_and_schemas_and_back(editor: Editor, project: Path) -> None:
    """From a name to its class, port or file, and from there to where it is used."""

    def definitions(file: Path, line: int, character: int) -> list[tuple[str, str]]:
        answer = editor.ask("textDocument/definition", editor.at(file, line, character))
        root = project.parent.as_uri()
        texts = {uri: Path(uri.removeprefix("file://")).read_text(encoding="utf-8").split("\n")
                 for uri in {each["uri"] for each in answer}}  # fmt: skip
        return [(each["uri"].removeprefix(f"{root}/"), text_of(each["range"], texts[each["uri"]])) for each in answer]

    module, schema = project.parent / "weather.py", project.parent / "schemas" / "Reading.avsc"
    python = MODULE.split("\n")
    outlet = next(number for number, line in enumerate(python) if "AvroOutlet(" in line)
    assert definitions(project, *place("weather.Gauges")) == [("weather.py", "Gauges")]
    ((file, declared),) = definitions(project, *place("gauges.readings", 9))
    assert (file, declared.startswith("AvroOutlet(")) == ("weather.py", True)
    assert definitions(project, *place("gauges.readings", 1)) == [("blueprint.conf", "gauges")]
    assert definitions(project, *place("rate = 5"))[0][0] == "weather.py"
    assert definitions(module, outlet, python[outlet].index("Reading.avsc"))[0] == ("schemas/Reading.avsc", "")
    assert ("blueprint.conf", "gauges.readings") in definitions(module, outlet, python[outlet].index("AvroOutlet"))
    assert [file for file, _ in definitions(schema, 0, 5)] == ["weather.py", "weather.py"]


def test_a_streamlet_is_renamed_everywhere(editor: Editor, project: Path) -> None:
    """In its entry, port paths and settings; the user confirms what it does to the state."""
    at = editor.at(project, *place("alarm  {"))
    prepared = editor.ask("textDocument/prepareRename", at)
    assert (prepared["placeholder"], text_of(prepared["range"], LINES)) == ("alarm", "alarm")
    answer = editor.ask("textDocument/rename", {**at, "newName": "siren"})
    (document,) = answer["documentChanges"]
    places = sorted((edit["range"]["start"]["line"], edit["range"]["start"]["character"]) for edit in document["edits"])
    assert places == sorted([place("alarm  {", 0), place("alarm.readings", 0), place("alarm.retry", 0)])
    assert {edit["newText"] for edit in document["edits"]} == {"siren"}
    (annotation,) = answer["changeAnnotations"].values()
    assert annotation["needsConfirmation"] and "new checkpoint" in annotation["description"]


def test_a_rename_that_would_break_the_blueprint_is_refused(editor: Editor, project: Path) -> None:
    """The message is that of the finding; nothing is changed."""
    at = editor.at(project, *place("readings { producers"))
    for name, message in {"Re/adings": "invalid topic id", "readings": "already a topic"}.items():
        with pytest.raises(RuntimeError, match=message):
            editor.ask("textDocument/rename", {**at, "newName": name})
    with pytest.raises(RuntimeError, match="there is no streamlet or topic here"):
        editor.ask("textDocument/rename", {**editor.at(project, *place("max-records")), "newName": "x"})


def test_an_editor_that_cannot_ask_shows_a_warning(project: Path) -> None:
    """The effect of the rename of a topic on its records."""
    with Editor(project.parent, annotations=False) as editor:
        editor.open(project)
        editor.findings(project)
        at = editor.at(project, *place("readings { producers"))
        answer = editor.ask("textDocument/rename", {**at, "newName": "gauged"})
        (edit,) = answer["changes"][project.as_uri()]
        assert edit["newText"] == "gauged"
        message = editor.event("window/showMessage")
        assert (message["type"], "starts empty" in message["message"]) == (2, True)


def test_saved_modules_and_schemas_are_read_again(editor: Editor, project: Path) -> None:
    """A port that was renamed in its class is a finding in the blueprint, and so is a field that was removed."""
    module = project.parent / "weather.py"
    module.write_text(MODULE.replace("readings = AvroInlet(", "records = AvroInlet("), encoding="utf-8")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": module.as_uri()}})
    assert "unknown-port" in {finding["code"] for finding in editor.findings(project)}
    module.write_text(MODULE, encoding="utf-8")
    change = {"uri": module.as_uri(), "type": 2}
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
    assert editor.findings(project) == []


def test_while_the_text_is_broken_answers_are_those_of_before(editor: Editor, project: Path) -> None:
    """Completion and hover work in the middle of a change."""
    editor.type(project, 0, 0, "}\n")
    assert {finding["code"] for finding in editor.findings(project)} == {"syntax"}
    last = len(LINES)
    editor.type(project, last, 0, "flow.streamlets.")
    assert {"alarm", "gauges"} <= set(labels(editor, project, last, len("flow.streamlets.")))


def test_a_blueprint_is_written_from_nothing(editor: Editor, project: Path) -> None:
    """Each line is completed though no text before it can be parsed: the first keys, classes, sinks and options."""
    file = project.parent / "second" / "blueprint.conf"
    file.parent.mkdir()
    file.write_text("", encoding="utf-8")
    editor.open(file)
    editor.findings(file)
    lines = [
        ("b", "blueprint"),
        ("blueprint { ", "streamlets"),
        ("streamlets { archive { ", "class"),
        ("class = streamlets.", "streamlets.Sink"),
        ("class = streamlets.Sink, parameters { ", "to"),
        ("to = ", "parquet"),
        ("to = parquet, options { ", "path"),
    ]
    number, written = 0, ""
    for text, expected in lines:
        editor.type(file, number, 0, text, replacing=len(written))
        assert expected in labels(editor, file, number, len(text))
        number, written = (number + 1, "") if text.endswith("{ ") else (number, text)
        if not written:
            editor.type(file, number - 1, len(text), "\n")
    editor.close(file)


def test_places_count_utf_16_units() -> None:
    """A character outside of the basic plane is two units."""
    line = "# 🌡 ä x"
    column = line.index("x") + 1
    assert character_of(line, column) == column
    assert column_of(line, column) == column
    assert column_of(line, 99) == len(line) + 1
    assert column_of("plain", 2) == 3
    assert character_of("plain", 3) == 2
    found = range_of(Span("a", 1, column, 1, column + 1), lambda number: line)
    assert (found.start.character, found.end.character) == (column, column + 1)


def test_without_the_extra_the_command_names_it(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not an internal error."""
    for name in [name for name in sys.modules if name.startswith(("cli.lsp", "pygls"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    result = flow("lsp")
    assert (result.code, "pip install 'streamlets[lsp]'" in result.err) == (1, True)
