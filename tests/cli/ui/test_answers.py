"""Every answer of the page for each kind of application in each state: data, or one message; never a failure."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import click
import pytest

from cli.commands.ui import address_of_editor
from cli.ui.answers import topic
from streamlets.ingress.batch_sources.progress import DiscoveryProgress, progress_file, write_progress
from streamlets.runner.deployment import store_descriptor
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.status import UnitId
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.ui.conftest import Visitor, grouped
from tests.crossings.applications import IMPORTED, KINDS, STATES, Kind, Owner, plan_of, state_of, write
from tests.streamlets.channels.kafka.test_topic import open_topic
from tests.streamlets.channels.topics import READING, append, batch

ANSWERS = (
    "structure", "events", "streamlets/{streamlet}", "streamlets/{streamlet}/settings", "streamlets/nobody",
    "streamlets/{streamlet}/samples", "streamlets/{streamlet}/samples?seconds=86400", "logs",
    "streamlets/{streamlet}/batches", "streamlets/nobody/batches?most=3",
    "streamlets/{streamlet}/log", "streamlets/nobody/log", "streamlets/{streamlet}/source", "streamlets/nobody/source",
    "streamlets/{streamlet}/tasks",
    "streamlets/{streamlet}/tasks?state=all&count=1",
    "logs/run.log", "logs/nothing.log", "topics", "topics/{topic}", "topics/nothing", "topics/{topic}/records",
    "topics/{topic}/records?containing=1&count=2", "topics/{topic}/records?count=x", "topics/{streamlet}/records",
    "dead-letters", "dead-letters?port=a.b&reason=c", "changes",
)  # fmt: skip
"""What the page asks for below the address of an application. `findings` and live messages have tests of their own."""

COMMANDS = ("streamlets/{streamlet}/settings",)
"""Answers of a command in a process of its own: they are asked for in one state."""


@pytest.fixture(scope="module", params=KINDS)
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kind, Path]]:
    kind = KINDS[request.param]
    yield kind, write(kind, tmp_path_factory.mktemp("page") / "plant")


@pytest.mark.parametrize("state", STATES)
def test_each_answer_is_data_or_a_message(
    prepared: tuple[Kind, Path], state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the application is and wherever its run is, the page shows data or one message."""
    monkeypatch.setattr("streamlets.channels.kafka.cluster_client.TIMEOUT", 0.3)  # there is no broker
    kind, blueprint = prepared
    shutil.rmtree(blueprint.parent / ".flow", ignore_errors=True)
    STATES[state](blueprint)
    owner = Owner()
    if state == "running":
        owner.hold(state_of(blueprint))
    try:
        visitor = Visitor(blueprint)
        known = visitor.client.get("/api/applications").json()["applications"]
        assert [each["name"] for each in known] == [state_of(blueprint).application]
        for application in known:
            for answer in ANSWERS:
                if answer in COMMANDS and state != "stopped":
                    continue
                path = answer.format(streamlet=quote(kind.streamlet), topic=kind.topic or "out")
                _check(visitor, f"/api/applications/{quote(application['id'])}/{path}")
    finally:
        owner.release()


def _check(visitor: Visitor, path: str) -> None:
    response = visitor.client.get(path)
    data = response.json()
    assert response.status_code in (200, 404, 503), (path, data)
    if response.status_code != 200:
        assert data["error"], path
        assert "Traceback" not in data["error"], (path, data)


def test_a_streamlet_and_a_topic_are_described(tmp_path: Path) -> None:
    """Ports, contracts and parameters from the last run; records, readers and contracts of the topic."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    client = Visitor(blueprint).client
    one = client.get("/api/applications/plant/streamlets/double").json()
    assert (one["class"], one["outlets"]["out"]["topic"]) == ("app.Double", "out")
    assert one["outlets"]["out"]["schema"]["fields"] == [{"name": "n", "type": ["null", "long"], "default": None}]
    topic = client.get("/api/applications/plant/topics/out").json()
    assert topic["records"] == 5
    assert [(each["writers"], each["readers"]) for each in topic["contracts"]] == [(["double.out"], [])]
    records = client.get("/api/applications/plant/topics/out/records?count=2").json()["records"]
    assert records == [{"n": 4}, {"n": 3}]
    assert client.get("/api/applications/plant/topics/out/records?containing=3").json()["records"] == [{"n": 3}]


def test_a_streamlet_has_its_records_of_the_log(tmp_path: Path) -> None:
    """Not those of others, nor of the run; none before the first run."""
    blueprint = grouped(tmp_path / "plant")
    STATES["stopped"](blueprint)
    client = Visitor(blueprint).client
    assert client.get("/api/applications/plant/streamlets/first/log").json() == {"records": []}
    log = RunLog(state_of(blueprint).logs / "run.log")
    log.failure(UnitId("first", "out"), "Traceback ...\nValueError: bad")
    log.failure(UnitId("second", "out"), "Traceback ...\nValueError: worse")
    log.close()
    (record,) = client.get("/api/applications/plant/streamlets/first/log").json()["records"]
    assert record.endswith(" first.out: the failure in full\nTraceback ...\nValueError: bad")


@pytest.mark.spark
def test_records_are_found_by_their_key(kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or by one field, whose value is compared as a whole; only among the last records."""
    resource = open_topic(kafka_broker, tmp_path)
    resource.create([READING])
    append(resource, [batch([1, 2, 11, 1])], READING, 0, partition_by=("id",))
    monkeypatch.setattr(topic, "_find", lambda served, name: resource)
    served: Any = SimpleNamespace(state=StateDirectory(tmp_path / ".flow", "plant"))

    def ids(**search: str) -> list[int]:
        found = topic.records(served, "readings", count=10, **search)
        assert found is not None and found["keys"] and found["searched"] == 4
        return [record["id"] for record in found["records"]]

    assert sorted(ids(containing="1")) == [1, 1, 11]
    assert ids(containing="1", field=topic.KEY) == [1, 1]
    assert ids(containing="11", field="id") == [11]
    assert ids(containing="1", field="id.inner") == ids(containing="1", field="absent") == []
    monkeypatch.setattr(topic, "_SEARCHED", 0)
    found = topic.records(served, "readings", count=10, containing="1", field="id")
    assert found is not None and (found["searched"], found["records"]) == (0, [])


@pytest.mark.parametrize(
    ("state", "health", "words"),
    [("crashed", "died", {"lost"}), ("stopped", "ended", {"running"}), ("damaged", "unknown", set())],
)
def test_the_list_of_applications_has_the_words_of_their_pages(
    tmp_path: Path, state: str, health: str, words: set[str]
) -> None:
    """After a kill the streamlets are lost, although the last status says that they run."""
    blueprint = write(KINDS["mixed"], tmp_path / "plant")
    STATES[state](blueprint)
    (application,) = Visitor(blueprint).client.get("/api/applications").json()["applications"]
    assert (application["health"], set(application["states"])) == (health, words)


def test_the_drawing_has_every_streamlet_topic_and_port(tmp_path: Path) -> None:
    """Each node has a place, and each port is at the end of a wire."""
    blueprint = write(KINDS["mixed"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    drawing = Visitor(blueprint).client.get("/api/applications/plant/structure").json()["drawing"]
    assert {node["name"] for node in drawing["nodes"]} == {"double", "feed", "pages", "rows", "out"}
    assert all(node["width"] and node["height"] for node in drawing["nodes"])
    assert len(drawing["edges"]) == 4
    tips = {tip["node"] for wire in drawing["wires"] for tip in wire["tips"]}
    assert tips == {edge["target"] for edge in drawing["edges"]}


def test_a_group_is_drawn_as_one_box(tmp_path: Path) -> None:
    """On request: the topics between its streamlets disappear, and the ports of the others stay apart."""
    blueprint = grouped(tmp_path / "plant")
    STATES["stopped"](blueprint)
    client = Visitor(blueprint).client
    whole = client.get("/api/applications/plant/structure").json()
    assert whole["groups"] == {"work": ["first", "second"]}
    assert {node["name"] for node in whole["drawing"]["nodes"] if node["kind"] == "streamlet"} == {
        "first", "second", "last",
    }  # fmt: skip
    drawing = client.get("/api/applications/plant/structure?collapsed=work&collapsed=nobody").json()["drawing"]
    assert {(node["kind"], node["name"], node["detail"]) for node in drawing["nodes"]} == {
        ("group", "work", "2 streamlets"), ("streamlet", "last", "app.Double"), ("topic", "rows", "delta"),
        ("topic", "out", "delta"), ("topic", "end", "delta"),
    }  # fmt: skip
    assert {(edge["source"], edge["target"], edge["port"]) for edge in drawing["edges"]} == {
        ("topic out", "streamlet last", "last.in"), ("streamlet last", "topic end", "last.out"),
        ("topic rows", "group work", "first.in"), ("group work", "topic out", "second.out"),
    }  # fmt: skip


def test_no_module_of_an_application_is_imported(tmp_path: Path) -> None:
    """The server runs none of the application's code; commands that do are processes of their own."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    (blueprint.parent / IMPORTED).unlink()
    visitor = Visitor(blueprint)
    for answer in ANSWERS:
        if answer not in COMMANDS:
            visitor.client.get(f"/api/applications/plant/{answer.format(streamlet='double', topic='out')}")
    assert not (blueprint.parent / IMPORTED).exists()


def test_records_are_hidden_where_the_server_shows_none(tmp_path: Path) -> None:
    """Records of topics and dead letters, not their numbers."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    client = Visitor(blueprint, records=False).client
    for answer in ("topics/out/records", "dead-letters"):
        response = client.get(f"/api/applications/plant/{answer}")
        assert (response.status_code, "--records" in response.json()["error"]) == (403, True)
    assert client.get("/api/applications/plant/topics/out").json()["records"] == 5


def test_several_projects_below_a_directory_are_shown(tmp_path: Path) -> None:
    """Applications with the same name are told apart by their place."""
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        STATES["stopped"](write(KINDS["python"], tmp_path / place / "plant"))
    STATES["stopped"](write(KINDS["spout"], tmp_path / "lines"))
    known = Visitor(tmp_path).client.get("/api/applications").json()["applications"]
    assert [each["id"] for each in known] == ["lines", "plant in one:plant", "plant in two:plant"]
    client = Visitor(tmp_path).client
    assert client.get(f"/api/applications/{quote('plant in two:plant', safe='')}/structure").status_code == 200


def test_a_project_that_has_not_run_is_shown(tmp_path: Path) -> None:
    """Beside those that have, with its name in the blueprint; a directory without a project is not."""
    STATES["stopped"](write(KINDS["spout"], tmp_path / "lines"))
    new = write(KINDS["python"], tmp_path / "plant")
    new.write_text(new.read_text() + "flow.application = power\n")
    (tmp_path / "other").mkdir()
    visitor = Visitor(tmp_path)
    known = visitor.client.get("/api/applications").json()["applications"]
    assert [(each["id"], each["health"]) for each in known] == [("lines", "ended"), ("power", "never ran")]
    assert visitor.client.get("/api/applications/power/structure").json()["streamlets"] == {}
    assert visitor.client.get("/api/applications/power/findings").json()["valid"]
    (below,) = Visitor(new.parent).client.get("/api/applications").json()["applications"]
    assert below["id"] == "power"


def test_the_structure_tells_what_can_be_scaled(tmp_path: Path) -> None:
    """The replicas of the blueprint, and whether all queries are real-time. One second is singular."""
    blueprint = write(KINDS["kafka"], tmp_path / "plant")
    text = blueprint.read_text()
    for setting, expected in (("replicas = 3", (3, False)), ("trigger { real-time = 5 seconds }", (None, True))):
        blueprint.write_text(f"{text}\nflow.streamlets.double {{ {setting} }}\n")
        STATES["stopped"](blueprint)
        client = Visitor(blueprint).client
        one = client.get("/api/applications/plant/structure").json()["streamlets"]["double"]
        assert (one["replicas"], one["real_time"]) == expected
        shutil.rmtree(blueprint.parent / ".flow")
    blueprint.write_text(f"{text}\nflow.streamlets.double.trigger {{ processing-time = 1 second }}\n")
    STATES["stopped"](blueprint)
    settings = Visitor(blueprint).client.get("/api/applications/plant/streamlets/double").json()["settings"]
    assert settings["trigger"] == "processing-time = 1 second"
    assert settings["retry.min-backoff"] == "1 second"


def test_the_changes_of_a_version_are_shown(tmp_path: Path) -> None:
    """Against the one before, with what each requires; a damaged file of it is one message."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    client = Visitor(blueprint).client
    assert client.get("/api/applications/plant/changes").json() == {}
    blueprint.write_text(blueprint.read_text() + "flow.streamlets.double.trigger { processing-time = 1 second }\n")
    with state_of(blueprint).locked():
        store_descriptor(state_of(blueprint), plan_of(blueprint))
    found = client.get("/api/applications/plant/changes").json()
    (change,) = found["changes"]
    assert (change["class"], "1 second`" in change["headline"]) == ("safe", True)
    assert Path(found["before"]).is_file()
    Path(found["before"]).write_text("{")
    response = client.get("/api/applications/plant/changes")
    assert response.status_code == 503
    assert response.json()["error"].startswith(f"{found['before']} cannot be read")


def test_findings_are_those_of_verify(tmp_path: Path) -> None:
    """On the project as it is on disk now, with excerpts."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    blueprint.write_text(blueprint.read_text() + "flow { drain = 3 }\n")
    found = Visitor(blueprint).client.get("/api/applications/plant/findings").json()
    assert not found["valid"]
    assert "error[" in found["text"]
    assert "flow { drain = 3 }" in found["text"]


def test_the_sources_of_an_application_are_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of a batch source with their states, and a retry as the command does it; no tasks without records."""
    blueprint = write(KINDS["batch source"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    write_progress(progress_file(state_of(blueprint).directory, "pages"), DiscoveryProgress(1, discoveries=1))
    visitor = Visitor(blueprint)
    own = "/api/applications/plant/streamlets/pages"
    counts = visitor.client.get(f"{own}/source").json()["tasks"]
    assert counts["discovered"] == counts["read"] + counts["waiting"]
    assert counts["discovered"] > 0
    entries = visitor.client.get(f"{own}/tasks?state=all").json()
    assert [entry["number"] for entry in entries] == list(reversed(range(counts["discovered"])))
    assert Visitor(blueprint, records=False).client.get(f"{own}/tasks").status_code == 403
    asked: list[tuple[str, ...]] = []

    def flow(command: str, *operands: str, options: Sequence[str] = ()) -> dict[str, int]:
        asked.append((command, *operands, *options))
        return {"retried": 1}

    monkeypatch.setattr("cli.ui.answers.commands.flow", flow)
    body = {"action": "retry", "streamlet": "pages", "task": 0}
    answer = visitor.client.post("/api/applications/plant/actions", headers=visitor.headers, json=body)
    assert answer.json() == {"retry": {"retried": 1}}
    assert asked == [("tasks retry", "pages", str(blueprint), "--application", "plant", "--task=0")]


def test_the_configuration_has_what_supervises_a_streamlet(tmp_path: Path) -> None:
    """Settings that differ from their defaults: of its supervision, and of the openings of its ports."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    text = "flow.streamlets.double { on-stuck = restart, patience = 5 minutes, outlets.out.open-timeout = 30s }\n"
    blueprint.write_text(blueprint.read_text() + text)
    STATES["stopped"](blueprint)
    settings = Visitor(blueprint).client.get("/api/applications/plant/streamlets/double").json()["settings"]
    assert (settings["on-stuck"], settings["patience"]) == ("restart", "5 minutes")
    assert settings["outlets.out.open-timeout"] == "30 seconds"


@pytest.mark.parametrize(
    ("editor", "shown"),
    [
        ("", ""),
        ("vscode", "vscode://file{path}:{line}:{column}"),
        ("idea://open?file={path}&line={line}", "idea://open?file={path}&line={line}"),
        ("code", None),
        ("javascript:alert('{path}')", None),
        ("JavaScript:{path}", None),
        ("data:text/html,{path}", None),
        (" javascript:{path}", None),
    ],
)
def test_places_may_lead_into_an_editor(editor: str, shown: str | None) -> None:
    """By the name of one, or by an address with the path. An address that would run a script is refused."""
    if shown is None:
        with pytest.raises(click.UsageError, match="--editor must be"):
            address_of_editor(editor)
    else:
        assert address_of_editor(editor) == shown
