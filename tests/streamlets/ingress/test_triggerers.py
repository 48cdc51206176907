"""Triggerers: when they call for a discovery, and which configurations they refuse."""

from __future__ import annotations

import json
import queue
import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cli.application import Application
from streamlets.ingress.triggerers import TriggererContext
from streamlets.ingress.triggerers.cron import CronTriggerer
from streamlets.ingress.triggerers.files import (
    FileChangedError,
    FilesTriggerer,
    FileVersion,
    file_stats,
    matching_files,
)
from streamlets.ingress.triggerers.http import HttpTriggerer
from streamlets.ingress.triggerers.immediate import ImmediateTriggerer
from streamlets.ingress.triggerers.registry import TRIGGERERS, TriggererError, make_triggerer
from tests.streamlets.ingress.clocks import FakeClock

START = datetime.fromisoformat("2026-11-22T05:59:30+00:00").timestamp()


@pytest.fixture
def clock() -> FakeClock:
    """A clock half a minute before six."""
    return FakeClock(START)


@pytest.fixture
def context(tmp_path: Path, clock: FakeClock) -> TriggererContext:
    """The context of a source."""
    return TriggererContext(streamlet="source", directory=tmp_path, clock=clock)


ORDERS = """
from streamlets import AvroOutlet, BatchSource

class Orders(BatchSource):
    out = AvroOutlet(schema="n long")

    def discover(self, eat, event):
        pass

    def prepare(self, task):
        pass

    def read_next(self):
        pass
"""


class Events:
    """A trigger that collects events."""

    def __init__(self) -> None:
        self.queue = queue.SimpleQueue[str]()
        self.accepts = True

    def __call__(self, event: str) -> bool:
        self.queue.put(event)
        return self.accepts

    def next(self) -> str:
        return self.queue.get(timeout=300)

    def all(self) -> list[str]:
        return [self.queue.get() for _ in range(self.queue.qsize())]


def _problems(triggerer: Any, config: Mapping[str, Any], context: TriggererContext) -> list[tuple[str, str]]:
    return [(problem.key, problem.message) for problem in triggerer.problems(config, context)]


def test_immediate_calls_once(context: TriggererContext) -> None:
    """`immediate` calls for one discovery at the start."""
    events, triggerer = Events(), ImmediateTriggerer()
    triggerer.init({}, context)
    triggerer.start(events)
    triggerer.stop()
    assert events.all() == [""]
    assert _problems(triggerer, {"every": 3}, context) == [("every", "the triggerer has no setting `every`")]


def test_cron_calls_at_its_times(context: TriggererContext, clock: FakeClock) -> None:
    """The event is the time that was due, in the zone; times that pass during a pause are one discovery."""
    events, triggerer = Events(), CronTriggerer()
    triggerer.init({"expression": "0 * * * *", "time-zone": "Europe/Paris"}, context)
    triggerer.start(events)
    clock.advance(40)
    assert events.next() == "2026-11-22T07:00:00+01:00"
    clock.advance(3 * 3600)
    assert events.next() == "2026-11-22T10:00:00+01:00"
    triggerer.stop()
    assert events.all() == []


def test_a_triggerer_may_be_stopped_twice_and_before_its_start(context: TriggererContext) -> None:
    """`stop` before `start` means that nothing is triggered."""
    configs = {"cron": {"expression": "* * * * *"}, "immediate": {}, "files": {"path": "."}}
    for name, config in configs.items():
        triggerer = make_triggerer(name)
        triggerer.init(config, context)
        triggerer.stop()
        triggerer.stop()


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({}, ("expression", "the triggerer requires `expression`")),
        ({"expression": 5}, ("expression", "`expression` must be a string, found `5`")),
        (
            {"expression": "0 0 30 2 *"},
            ("expression", "`0 0 30 2 *` never fires: no month that it names has a day `30`"),
        ),
        ({"expression": "@daily", "time-zone": "Mars"}, ("time-zone", "unknown time zone `Mars`")),
        ({"expression": "@daily", "zone": "UTC"}, ("zone", "the triggerer has no setting `zone`")),
    ],
)
def test_cron_refuses(config: dict[str, Any], problem: tuple[str, str], context: TriggererContext) -> None:
    """Each mistake is a problem of its key."""
    assert _problems(CronTriggerer(), config, context) == [problem]


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("0 0 ? * MON", "write `*`"),
        ("0 0 * * MONL", "write `1L`"),
        ("0 0 L-2 * *", "`L-2` of Quartz and Spring"),
        ("0 0 1W * *", "`1W` of Quartz and Spring"),
        ("0 0 12 * * MON 2030", "leave out the seventh field"),
    ],
)
def test_cron_has_advice_for_other_dialects(expression: str, advice: str, context: TriggererContext) -> None:
    (problem,) = CronTriggerer().problems({"expression": expression}, context)

    assert any(advice in help for help in problem.help)


def test_files_calls_for_new_and_changed_files(context: TriggererContext, tmp_path: Path) -> None:
    """A file counts once it is the same in two looks; a change counts again, and files with a dot do not count."""
    events, triggerer = Events(), FilesTriggerer()
    triggerer.init({"path": "*.csv"}, context)
    (tmp_path / "a.csv").write_text("1")
    (tmp_path / ".b.csv").write_text("1")
    (tmp_path / "c.txt").write_text("1")
    triggerer.look(events)
    assert events.all() == []
    triggerer.look(events)
    assert [json.loads(event) for event in events.all()] == [{"count": 1, "files": [str(tmp_path / "a.csv")]}]
    triggerer.look(events)
    assert events.all() == []
    (tmp_path / "a.csv").write_text("12")
    triggerer.look(events)
    triggerer.look(events)
    assert len(events.all()) == 1


def test_files_whose_trigger_was_dropped_are_reported_again(context: TriggererContext, tmp_path: Path) -> None:
    """A file that arrives during a discovery is not forgotten."""
    events, triggerer = Events(), FilesTriggerer()
    triggerer.init({"path": str(tmp_path)}, context)
    (tmp_path / "a").write_text("1")
    triggerer.look(events)
    events.accepts = False
    triggerer.look(events)
    events.accepts = True
    triggerer.look(events)
    triggerer.look(events)
    assert len(events.all()) == 2


def test_files_that_cannot_be_listed_for_a_while_are_not_new(context: TriggererContext, tmp_path: Path) -> None:
    """As when a network file system does not answer for a moment: old files would be read twice."""
    directory, events, triggerer = tmp_path / "in", Events(), FilesTriggerer()
    directory.mkdir()
    (directory / "a.csv").write_text("1")
    triggerer.init({"path": "in/*.csv"}, context)
    triggerer.look(events)
    triggerer.look(events)
    assert len(events.all()) == 1
    directory.rename(tmp_path / "gone")
    triggerer.look(events)
    (tmp_path / "gone").rename(directory)
    triggerer.look(events)
    triggerer.look(events)
    assert events.all() == []
    (directory / "a.csv").unlink()
    triggerer.look(events)
    (directory / "a.csv").write_text("1")
    triggerer.look(events)
    triggerer.look(events)
    assert len(events.all()) == 1


def test_files_looks_at_intervals(context: TriggererContext, clock: FakeClock, tmp_path: Path) -> None:
    """The thread looks again after each interval."""
    events, triggerer = Events(), FilesTriggerer()
    (tmp_path / "a").write_text("1")
    triggerer.init({"path": ".", "interval": "5 s"}, context)
    triggerer.start(events)
    clock.advance(5)
    assert json.loads(events.next())["count"] == 1
    triggerer.stop()


@pytest.mark.parametrize(
    ("config", "key"),
    [({}, "path"), ({"path": "missing/*.csv"}, "path"), ({"path": ".", "interval": "soon"}, "interval"),
     ({"path": ".", "interval": "0 s"}, "interval"), ({"path": ".", "glob": "*"}, "glob")],
)  # fmt: skip
def test_files_refuses(config: dict[str, Any], key: str, context: TriggererContext) -> None:
    """Each mistake is a problem of its key."""
    assert [found for found, _ in _problems(FilesTriggerer(), config, context)] == [key]


def test_a_file_version_knows_changes(tmp_path: Path) -> None:
    """A version that travelled as a task finds that the file changed, or was deleted."""
    file = tmp_path / "a"
    file.write_text("1")
    version = FileVersion.from_task(json.loads(json.dumps(FileVersion.of(file).to_task())))
    version.require_unchanged()
    file.write_text("12")
    assert FileVersion.of(file).key != version.key
    with pytest.raises(FileChangedError, match="changed after it was discovered"):
        version.require_unchanged()
    file.unlink()
    with pytest.raises(FileChangedError, match="can no longer be read"):
        version.require_unchanged()


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _post(port: int, token: str, path: str = "/", body: bytes = b"") -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_http_prints_no_traceback_for_a_client_that_hangs_up(
    context: TriggererContext, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its connection is closed silently, and the next request is answered."""
    (tmp_path / "token").write_text("s" * 20)
    port, triggerer = free_port(), HttpTriggerer()
    triggerer.init({"port": port, "token-file": "token"}, context)
    triggerer.start(Events())
    try:
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"POST / HTTP/1.1\r\nAuthorization: Bearer " + b"s" * 20 + b"\r\nContent-Length: 9\r\n\r\n")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # with a reset
        assert _post(port, "s" * 20) == 202
    finally:
        triggerer.stop()
    assert capfd.readouterr().err == ""


def test_http_calls_for_each_request(context: TriggererContext, tmp_path: Path) -> None:
    """The body is the event; another token, another path and a busy source are answered with an error."""
    token, port = "0123456789abcdef", free_port()
    (tmp_path / "token").write_text(f"{token}\n")
    events, triggerer = Events(), HttpTriggerer()
    config = {"port": port, "token-file": "token", "path": "/discover"}
    assert _problems(triggerer, config, context) == []
    triggerer.init(config, context)
    triggerer.start(events)
    try:
        assert _post(port, token, "/discover", b"new orders") == 202
        assert events.next() == "new orders"
        assert _post(port, "another", "/discover") == 401
        assert _post(port, token, "/") == 404
        events.accepts = False
        assert _post(port, token, "/discover") == 409
        second = HttpTriggerer()
        second.init(config, context)
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            second.start(events)
    finally:
        triggerer.stop()
        triggerer.stop()


@pytest.mark.parametrize(
    ("config", "key"),
    [({}, "port"), ({"port": 0}, "port"), ({"port": 70000}, "port"), ({"port": "8099"}, "port"),
     ({"port": 8099, "path": "x"}, "path"), ({"port": 8099, "token-file": "nowhere"}, "token-file"),
     ({"port": 8099, "token-file": "short"}, "token-file"), ({"port": 8099, "token": "secret"}, "token")],
)  # fmt: skip
def test_http_refuses(config: dict[str, Any], key: str, context: TriggererContext, tmp_path: Path) -> None:
    """Each mistake is a problem of its key; a message never has the token."""
    (tmp_path / "short").write_text("abc")
    (tmp_path / "token").write_text("0123456789abcdef")
    problems = _problems(HttpTriggerer(), {"token-file": "token", **config}, context)
    assert [found for found, _ in problems] == [key]
    assert "abc" not in str(problems) and "secret" not in str(problems)


def test_the_registry_finds_triggerers_by_name_and_by_class() -> None:
    """A name with a dot is a class; what cannot be created or lacks a method is refused."""
    assert set(TRIGGERERS) == {"cron", "files", "http", "immediate", "interval"}
    assert isinstance(make_triggerer("streamlets.ingress.triggerers.cron.CronTriggerer"), CronTriggerer)
    for name, message in {
        "crn": "unknown triggerer `crn`",
        "missing.module.Class": "cannot be created: ModuleNotFoundError",
        "pathlib.Path": "has no method `init` and `start` and `stop`",
    }.items():
        with pytest.raises(TriggererError, match=message):
            make_triggerer(name)


def test_relative_paths_are_checked_from_the_directory_of_the_blueprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are resolved in a run: wherever they are set, and wherever the command is run."""
    (tmp_path / "app" / "incoming").mkdir(parents=True)
    (tmp_path / "conf").mkdir()
    (tmp_path / "app" / "blueprint.conf").write_text(
        "blueprint { streamlets { orders = paths_app.Orders }, topics { orders { producers = [orders.out] } } }"
    )
    (tmp_path / "app" / "paths_app.py").write_text(ORDERS)
    discovery = "flow.streamlets.orders.parameters.discovery"
    conf = tmp_path / "conf" / "local.conf"
    conf.write_text(f"{discovery} {{ triggerer = files, config.path = incoming }}")
    monkeypatch.chdir(tmp_path)

    def findings(*settings: str) -> list[str]:
        application = Application(tmp_path / "app" / "blueprint.conf", (str(conf),), settings)
        return [finding.headline for finding in application.verify().diagnostics if finding.code == "discovery-config"]

    assert findings() == []
    assert findings(f"{discovery}.config.path=incoming/*.csv") == []
    assert findings(f"{discovery}.config.path=conf") == ["there is no directory `conf`"]


def test_links_to_directories_are_not_followed_by_two_stars(tmp_path: Path) -> None:
    """A link to a directory above would have files found many times; `*` and names follow links, and so do files."""
    (tmp_path / "data" / "sub" / ".hidden").mkdir(parents=True)
    for name in ("a.csv", "sub/b.csv", "sub/.c.csv", "sub/.hidden/d.csv"):
        (tmp_path / "data" / name).touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "e.csv").touch()
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "self").symlink_to("self")
    (tmp_path / "data" / "far").symlink_to(tmp_path / "other")
    (tmp_path / "data" / "link.csv").symlink_to(tmp_path / "other" / "e.csv")

    def found(pattern: str) -> list[str]:
        names = sorted(str(Path(path).relative_to(tmp_path / "data")) for path, _ in file_stats(tmp_path / pattern))
        assert names == [str(path.relative_to(tmp_path / "data")) for path in matching_files(tmp_path / pattern)]
        return names

    everything = ["a.csv", "link.csv", "sub/b.csv"]
    assert found("data/**/*.csv") == found("data/**/*") == found("data/**") == everything
    assert found("data/**/**/*.csv") == everything, "each once"
    assert found("data/*/*.csv") == ["far/e.csv", "loop/a.csv", "loop/link.csv", "sub/b.csv"]
    assert found("data/far/**/*.csv") == ["far/e.csv"] and found("data/*/e.csv") == ["far/e.csv"]
    assert found("data/**/.hidden/*.csv") == ["sub/.hidden/d.csv"] and found("data/nowhere/**/*") == []
    assert found("data") == ["a.csv", "link.csv"] and found("data/a.csv") == ["a.csv"]
