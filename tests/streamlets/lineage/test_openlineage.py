"""OpenLineage events of a run: jobs, datasets, facets, and a receiver that is slow or dead."""

from __future__ import annotations

import gzip
import json
import sys
import threading
import uuid
from collections.abc import Callable
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde

from streamlets.lineage.application import ApplicationLineage
from streamlets.lineage.model import StreamletLineage
from streamlets.lineage.openlineage.datasets import DatasetName, described_dataset, file_dataset
from streamlets.lineage.openlineage.receivers import receiver_of
from streamlets.lineage.openlineage.reporter import INTERVAL
from streamlets.lineage.openlineage.sender import Sender
from streamlets.lineage.openlineage.view import LOG, OpenLineage, OpenLineageView
from streamlets.lineage.planner import Planner, PlannerError
from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.views import ViewContext, ViewError
from tests.streamlets.lineage.kiosk_lineage import build
from tests.streamlets.lineage.openlineage_schema import faults
from tests.streamlets.runner.supervision.bench import unit_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class KnownPlanner:
    """A planner that knows the lineage at once.

    Arguments:
        known: the lineage; None for one that fails.
    """

    def __init__(self, known: dict[str, StreamletLineage] | None) -> None:
        self._known = known

    def result(self) -> dict[str, StreamletLineage]:
        """Return the lineage."""
        if self._known is None:
            raise PlannerError("the planner exited with code 1: there is no Java")
        return self._known

    def stop(self) -> None:
        """Do nothing."""


class Received:
    """A receiver that keeps the events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def emit(self, event: RunEvent) -> None:
        """Keep an event as a receiver would get it."""
        self.events.append(json.loads(Serde.to_json(event)))


@pytest.fixture(scope="module")
def kiosk(spark: SparkSession) -> ApplicationLineage:
    """The lineage of the kiosk."""
    return build(spark)


def _context(kiosk: ApplicationLineage, directory: Path) -> ViewContext:
    state = StateDirectory(directory, "kiosk")
    state.logs.mkdir(parents=True, exist_ok=True)
    return ViewContext(plan=kiosk.plan, state=state)


def _events(
    kiosk: ApplicationLineage, directory: Path, *events: Event, known: dict[str, StreamletLineage] | None = None
) -> list[dict[str, Any]]:
    """Return the OpenLineage events of a run with some events, in a view that is left in the end."""
    received, planner = Received(), KnownPlanner(known)
    view = OpenLineageView(_context(kiosk, directory), received, lambda plan: planner)  # type: ignore[arg-type,return-value]
    publisher = Publisher([view])
    with view:
        view._planning.join(60)
        for event in (RunStarted(1.0, "kiosk", tuple(own.ref for own in kiosk.plan.streamlets)), *events):
            publisher.publish(event)
    return received.events


pytestmark = pytest.mark.spark


def test_the_events_of_a_run(kiosk: ApplicationLineage, tmp_path: Path) -> None:
    """A streamlet has START when it begins, RUNNING at an interval, and an end by its state."""
    events = _events(
        kiosk, tmp_path,
        UnitChanged(2.0, unit_id("till.out"), "starting"), UnitChanged(3.0, unit_id("till.out"), "running"),
        UnitChanged(4.0, unit_id("split.q"), "running"), UnitChanged(5.0, unit_id("post.post"), "running"),
        UnitChanged(6.0 + INTERVAL, unit_id("till.out"), "completed"),
        UnitChanged(7.0 + INTERVAL, unit_id("split.q"), "failed", "no room on the disk", ("kiosk.py, line 3",)),
        RunEnded(8.0 + INTERVAL, 1, "failed for good: split"),
    )  # fmt: skip
    kinds = [(event["job"]["name"], event["eventType"]) for event in events]
    assert kinds == [
        ("kiosk.till", "START"), ("kiosk.split", "START"), ("kiosk.post", "START"), ("kiosk.till", "COMPLETE"),
        ("kiosk.split", "RUNNING"), ("kiosk.post", "RUNNING"), ("kiosk.split", "FAIL"), ("kiosk.post", "ABORT"),
    ]  # fmt: skip
    runs = {event["job"]["name"]: event["run"]["runId"] for event in events}
    assert all(event["run"]["runId"] == runs[event["job"]["name"]] for event in events) and len(set(runs.values())) == 3
    failed = next(event for event in events if event["eventType"] == "FAIL")
    error = failed["run"]["facets"]["errorMessage"]
    assert (error["message"], error["stackTrace"]) == ("no room on the disk", "kiosk.py, line 3")


def test_datasets_and_columns(kiosk: ApplicationLineage, tmp_path: Path) -> None:
    """Topics are datasets with schemas, and outputs have the lineage of their columns."""
    started = UnitChanged(2.0, unit_id("totals.totals"), "starting")
    event, _ = _events(kiosk, tmp_path, started, known=dict(kiosk.streamlets))
    (read,), (written,) = event["inputs"], event["outputs"]
    topics = tmp_path / "kiosk" / "topics"
    assert (read["namespace"], read["name"], written["name"]) == ("file", str(topics / "large"), str(topics / "totals"))
    assert [field["name"] for field in read["facets"]["schema"]["fields"]] == ["customer", "amount", "city"]
    lineage = written["facets"]["columnLineage"]
    (amount,) = lineage["fields"]["spent"]["inputFields"]
    assert (amount["name"], amount["field"]) == (read["name"], "amount")
    assert [(each["type"], each["subtype"]) for each in amount["transformations"]] == [("DIRECT", "AGGREGATION")]
    assert {(each["field"], each["transformations"][0]["subtype"]) for each in lineage["dataset"]} == {
        ("city", "FILTER"), ("customer", "GROUP_BY"),
    }  # fmt: skip


def test_lineage_that_is_not_known_is_absent(kiosk: ApplicationLineage, tmp_path: Path) -> None:
    """Without the lineage there are events without its facet, and the log has the reason."""
    event, _ = _events(kiosk, tmp_path, UnitChanged(2.0, unit_id("totals.totals"), "starting"))
    assert set(event["outputs"][0]["facets"]) == {"schema"}
    log = tmp_path / "kiosk" / "logs" / LOG
    assert "there is no Java" in log.read_text()
    assert "2 events sent, 0 not sent" in log.read_text()


def _whole_run(kiosk: ApplicationLineage, directory: Path) -> list[dict[str, Any]]:
    """Return the events of a run in which every streamlet ran and one failed."""
    started = (UnitChanged(2.0, unit_id(f"{own.ref}.q"), "running") for own in kiosk.plan.streamlets)
    failed = UnitChanged(3.0, unit_id("till.q"), "failed", "no disk")
    return _events(kiosk, directory, *started, failed, known=dict(kiosk.streamlets))


def test_events_are_valid(kiosk: ApplicationLineage, tmp_path: Path) -> None:
    """Events and facets are as their published schemas say, of which the client of OpenLineage has the classes."""
    events = _whole_run(kiosk, tmp_path)
    assert {event["eventType"] for event in events} == {"START", "FAIL", "ABORT"}
    seen = set()
    for event in events:
        assert faults(event) == []
        uuid.UUID(event["run"]["runId"])
        assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
        datasets = event["inputs"] + event["outputs"]
        assert all(dataset["namespace"] and dataset["name"] for dataset in datasets)
        for owner in (event["run"], event["job"], *datasets):
            seen |= set(owner["facets"])
            assert all(facet["_producer"] == event["producer"] for facet in owner["facets"].values())
    assert seen == {"jobType", "processing_engine", "errorMessage", "schema", "columnLineage"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda event: event["run"].pop("runId"), "event.run: 'runId' is a required property"),
        (lambda event: event["job"].update(name=3), "event.job.name: 3 is not of type 'string'"),
        (lambda event: event.update(kind="x"), "event: Additional properties are not allowed"),
        (lambda event: event["outputs"][0]["facets"]["schema"]["fields"][0].pop("name"), "schema.fields[0]"),
    ],
)
def test_invalid_events_are_found(
    kiosk: ApplicationLineage, tmp_path: Path, change: Callable[[dict[str, Any]], object], fault: str
) -> None:
    """The check is one: each damage of a valid event is a fault."""
    event = next(event for event in _whole_run(kiosk, tmp_path) if event["outputs"])
    change(event)
    assert fault in str(faults(event))


def test_events_reach_a_server(kiosk: ApplicationLineage, tmp_path: Path) -> None:
    """By HTTP, as a catalog takes them; an answer with an error is reported, and the next events are sent."""
    taken: list[tuple[str, str, dict[str, Any]]] = []
    answers = [400, *[201] * 100]

    class Catalog(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            taken.append((self.path, self.headers["content-type"], json.loads(body)))
            self.send_response(answers[len(taken) - 1])
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Catalog) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        receiver = receiver_of(f"http://127.0.0.1:{server.server_address[1]}")
        view = OpenLineageView(_context(kiosk, tmp_path), receiver, lambda plan: KnownPlanner({}))  # type: ignore[arg-type,return-value]
        with view:
            publisher = Publisher([view])
            publisher.publish(RunStarted(1.0, "kiosk", tuple(own.ref for own in kiosk.plan.streamlets)))
            for streamlet in kiosk.plan.streamlets:
                publisher.publish(UnitChanged(2.0, unit_id(f"{streamlet.ref}.q"), "running"))
            publisher.publish(RunEnded(3.0, 0))
        server.shutdown()
    assert {(path, kind) for path, kind, _ in taken} == {("/api/v1/lineage", "application/json")}
    assert len(taken) == 2 * len(kiosk.plan.streamlets)
    assert [fault for _, _, event in taken for fault in faults(event)] == []
    log = (tmp_path / "kiosk" / "logs" / LOG).read_text()
    assert "an event could not be sent" in log
    assert f"{len(taken) - 1} events sent, 1 not sent" in log


def test_a_receiver_that_does_not_answer_delays_nothing() -> None:
    """Events for which there is no room are dropped and counted; a view that is left does not wait for long."""
    release = threading.Event()

    class Slow:
        def emit(self, event: RunEvent) -> None:
            release.wait(60)

    sender = Sender(Slow(), pytest.fail, most_waiting=3)
    for _ in range(20):
        sender.send(None)  # type: ignore[arg-type]
    assert sender.dropped in (16, 17)  # one may be on its way
    assert sender.close(0.1) + sender.dropped + sender.sent == 20
    release.set()


def test_a_receiver_that_fails_is_reported_once() -> None:
    """Events that a receiver refuses are counted, and the first error in a row is reported."""
    errors: list[str] = []

    class Dead:
        def emit(self, event: RunEvent) -> None:
            raise ConnectionError("no route to host")

    sender = Sender(Dead(), errors.append)
    for _ in range(5):
        sender.send(None)  # type: ignore[arg-type]
    assert sender.close(60) == 0
    assert (sender.sent, sender.refused) == (0, 5)
    assert errors == ["an event could not be sent: ConnectionError: no route to host"]


@pytest.mark.parametrize("argument", ["https://user:password@lineage.example", "https://lineage.example/?api_key=1"])
def test_credentials_are_not_arguments(argument: str) -> None:
    """A URL with credentials is refused without showing them."""
    with pytest.raises(ViewError, match="OPENLINEAGE_API_KEY") as error:
        receiver_of(argument)
    assert "password@" not in str(error.value) and "api_key=1" not in str(error.value)


def test_a_receiver_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument and a configuration of the client there is no receiver."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ViewError, match="it needs a receiver"):
        receiver_of("")
    with pytest.raises(ViewError, match="cannot be written"):
        receiver_of("missing/events.jsonl")
    monkeypatch.setenv("OPENLINEAGE_URL", "http://localhost:5000")
    receiver_of("")


def test_the_package_is_needed(kiosk: ApplicationLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `openlineage-python` the view cannot be opened, and says what to install."""
    for name in [name for name in sys.modules if name.startswith("streamlets.lineage.openlineage.re")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    with pytest.raises(ViewError, match="streamlets\\[lineage\\]"):
        OpenLineage().open(_context(kiosk, tmp_path))


def test_a_planner_that_fails_has_its_last_line(kiosk: ApplicationLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the end of the output of the process."""
    monkeypatch.setattr("streamlets.lineage.planner.pickle.dumps", lambda plan: b"no plan")
    planner = Planner(kiosk.plan)
    with pytest.raises(PlannerError, match=r"exited with code 1: .*UnpicklingError"):
        planner.result()
    planner.stop()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json /data/rides multiLine=true", DatasetName("file", "/data/rides")),
        ("csv data/fares header=true", DatasetName("file", "/here/data/fares")),
        ("parquet s3a://bucket/orders/2026", DatasetName("s3://bucket", "orders/2026")),
        ("kafka kafka.bootstrap.servers=broker:9092,other:9092 subscribe=orders",
         DatasetName("kafka://broker:9092", "orders")),
        ("rate rowsPerSecond=5", None),
        ("a function of batches", None),
        ("noop", None),
    ],
)  # fmt: skip
def test_names_of_datasets(text: str, expected: DatasetName | None) -> None:
    """Files, objects and Kafka topics have the names of OpenLineage's convention; other sources have none."""
    assert described_dataset(text, Path("/here")) == expected


def test_names_of_files() -> None:
    """A URL of a file is a path."""
    assert file_dataset("file:///data/a", Path("/here")) == DatasetName("file", "/data/a")


@pytest.mark.slow
def test_a_planner(kiosk: ApplicationLineage) -> None:
    """A process of its own computes the same lineage from the plan of a run."""
    planner = Planner(kiosk.plan)
    try:
        assert planner.result() == kiosk.streamlets
    finally:
        planner.stop()
