"""`flow dead-letters`: list, show and replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.contract.types import arrow_schema
from streamlets.runner.state_directory.directory import StateDirectory
from tests.streamlets.channels.topics import append, ids_of, made
from tests.streamlets.runner.dead_letters.test_replay import FOUND, bury

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

STREAMLET = """
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic, StreamletShape

class Writer(SparkStreamlet):
    out = AvroOutlet(schema={
        "type": "record", "name": "Coloured", "fields": [
            {"name": "id", "type": "long"},
            {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": SYMBOLS}}]},
        on_invalid="dead-letters")
    shape = StreamletShape.with_outlets(out)

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            raise NotImplementedError
"""

BLUEPRINT = """
blueprint {
  streamlets { writer = MODULE.Writer }
  topics { coloured { producers = [writer.out], topic.name = out } }
}
flow.application = app
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An application whose outlet now accepts RED and GREEN, with five dead letters with GREEN and one with PINK."""
    module = f"letters_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{module}.py").write_text(STREAMLET.replace("SYMBOLS", '["RED", "GREEN"]'))
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT.replace("MODULE", module))
    topics = tmp_path / ".flow" / "app" / "topics"
    bury(topics, 0, range(5))
    bury(topics, 1, [100], "PINK")
    made(topics, "out")
    return tmp_path


def test_dead_letters_are_listed(flow: Flow, directory: Path) -> None:
    """`flow dead-letters` counts them by outlet and reason, as a table or as JSON."""
    result = flow("dead-letters", str(directory))
    assert result.code == 0
    (line,) = (line for line in result.out.splitlines() if "GREEN" in line)
    assert line.split()[:3] == ["writer.out", "5", "0"]
    first, second = json.loads(flow("dead-letters", "list", str(directory), "--format", "json").out)["app"]
    assert (first["streamlet"], first["outlet"], first["waiting"]) == ("writer", "out", 5)
    assert (second["reason"], second["last"]) == ("colour: PINK is not a symbol", "2024-01-01T00:00:01+00:00")


def test_dead_letters_are_shown(flow: Flow, directory: Path) -> None:
    """The last ones are shown with reason, query and batch, as text or JSON lines, selected by their reason."""
    result = flow("dead-letters", "show", "writer", str(directory), "-n", "2")
    assert result.out.count("writer.out") == 2
    for word in ("q batch 1, version 1\n", "PINK is not a symbol", '{"id": 100, "colour": "PINK"}'):
        assert word in result.out
    lines = flow("dead-letters", "show", "writer.out", str(directory), "--reason", "GREEN", "--format", "jsonl").out
    letters = [json.loads(line) for line in lines.splitlines()]
    assert [letter["record"]["id"] for letter in letters] == list(range(5))
    assert {(letter["query"], letter["batch"], letter["replayed"]) for letter in letters} == {("q", 0, False)}


def test_a_misspelt_streamlet_gets_a_suggestion(flow: Flow, directory: Path) -> None:
    """The nearest streamlet is suggested; the exit code is 2."""
    result = flow("dead-letters", "show", "writr", str(directory))
    assert (result.code, "did you mean `writer`" in result.err) == (2, True)


def test_dead_letters_are_replayed_once(flow: Flow, directory: Path) -> None:
    """Records that now conform are replayed once, and not in a dry run.

    The others are reported with their current reason, and the exit code is 1.
    """
    out = made(directory / ".flow" / "app" / "topics", "out")
    result = flow("dead-letters", "replay", "writer", str(directory), "--dry-run")
    assert "writer.out: would replay 5 records" in result.out
    assert ids_of(out.scan()) == []
    result = flow("dead-letters", "replay", "writer", str(directory))
    assert result.code == 1
    assert "writer.out: replayed 5 records" in result.out
    assert "writer.out: 1 record still breaks the contract: `colour`: 'PINK' is not a symbol" in result.out
    assert ids_of(out.scan()) == list(range(5))
    result = flow("dead-letters", "replay", "writer.out", str(directory), "--reason", "GREEN", "--format", "json")
    assert (result.code, json.loads(result.out)["replayed"]) == (0, {})
    assert ids_of(out.scan()) == list(range(5))
    assert "0         5" in flow("dead-letters", str(directory)).out
    assert "no matching dead letters" in flow("dead-letters", "show", "writer", str(directory), "--reason", "GREEN").out


READER = STREAMLET.replace("AvroOutlet", "AvroInlet").replace("with_outlets", "with_inlets")
READER = READER.replace("Writer", "Reader").replace(',\n        on_invalid="dead-letters"', "")


def test_records_that_the_running_version_cannot_read_are_not_replayed(flow: Flow, directory: Path) -> None:
    """A replay by a schema that is not deployed yet would fail readers that run: refused, also as a dry run.

    Letters that would not be replayed, and applications that do not run, are not affected.
    """
    blueprint = BLUEPRINT.replace("[writer.out]", "[writer.out], consumers = [reader.out]")
    blueprint = blueprint.replace("streamlets {", "streamlets { reader = MODULE.Reader, ")
    state = StateDirectory(directory / ".flow", "app")
    for version, symbols in enumerate(('["RED"]', '["RED", "GREEN"]')):
        module = f"version_{version}_{directory.name}".replace("-", "_")
        (directory / f"{module}.py").write_text((STREAMLET + READER).replace("SYMBOLS", symbols))
        (directory / "blueprint.conf").write_text(blueprint.replace("MODULE", module))
        if version == 0:
            flow("describe", str(directory), "-o", str(state.descriptor_file))
    with state.locked():
        for arguments in ((), ("--dry-run",)):
            result = flow("dead-letters", "replay", "writer", str(directory), *arguments)
            assert result.code == 1
            assert (
                "app is running a version that cannot read these records: inlet `reader.out`, `colour`: " in result.err
            )
            assert "`flow upgrade`" in result.err
        assert (
            "1 record still breaks" in flow("dead-letters", "replay", "writer", str(directory), "--reason", "PINK").out
        )
        assert ids_of(made(state.topics, "out").scan()) == []
    assert "replayed 5 records" in flow("dead-letters", "replay", "writer", str(directory)).out


def test_letters_in_several_topics_are_counted_together(flow: Flow, directory: Path) -> None:
    """If the topic of dead letters was renamed, a port has letters in two topics, and all of them are replayed."""
    topics = directory / ".flow" / "app" / "topics"
    bury(topics, 0, range(10, 13), name="older")
    bury(topics, 1, [101, 102], "PINK", name="older")
    bury(topics, 2, [200], port="writer.gone", name="older")
    bury(topics, 2, [201], port="writer.gone")
    result = flow("dead-letters", "replay", "writer", str(directory), "--format", "json")
    report = json.loads(result.out)
    assert (result.code, report["replayed"], report["without_outlet"]) == (1, {"writer.out": 8}, {"writer.gone": 2})
    assert [(entry["port"], entry["letters"]) for entry in report["broken"]] == [("writer.out", 3)]
    assert sorted(ids_of(made(topics, "out").scan())) == [*range(5), *range(10, 13)]


def test_a_broken_blueprint_replays_nothing(flow: Flow, directory: Path) -> None:
    """The current contract is unknown; the findings are shown."""
    (directory / "blueprint.conf").write_text("blueprint {")
    result = flow("dead-letters", "replay", "writer", str(directory), "--application", "app")
    assert (result.code, "error" in result.err) == (2, True)


def test_without_dead_letters_there_is_no_table(flow: Flow, tmp_path: Path) -> None:
    """One line reports that there are none."""
    made(tmp_path / "app" / "topics")
    (tmp_path / "app" / "lock").touch()
    assert "app: no dead letters" in flow("dead-letters", "--state-dir", str(tmp_path)).out


def test_messages_of_an_inlet_are_shown_with_their_place(flow: Flow, directory: Path) -> None:
    """Topic, partition and offset. A replay explains why it does not send them: no inlet of this name alone reads a
    topic."""
    row = {
        "record": '{"key":null,"value":"eA=="}',
        "port": "writer.in",
        "coordinates": "raw-data/2/17",
        "reason": "no known schema has the header 78",
        "time": FOUND,
        "version": "1",
    }
    of = dead_letter_contract()
    dead = made(directory / ".flow" / "app" / "topics", "dead")
    append(dead, [pa.RecordBatch.from_pylist([row], schema=arrow_schema(of))], of, 9, writer="inlet")
    shown = flow("dead-letters", "show", "writer.in", str(directory)).out
    assert (
        "writer.in, topic raw-data, partition 2, offset 17, version 1\n  no known schema has the header 78\n" in shown
    )
    (line,) = flow("dead-letters", "show", "writer.in", str(directory), "--format", "jsonl").out.splitlines()
    assert json.loads(line)["coordinates"] == "raw-data/2/17"
    result = flow("dead-letters", "replay", "writer.in", str(directory))
    assert result.code == 1
    assert result.out == (
        "writer.in: 1 record not replayed: there is no outlet `writer.in`, and no inlet `writer.in` that alone reads a "
        "topic of the application\n"
    )
