"""The server of metrics and probes: it answers, and no client disturbs the run."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace

import pytest

from streamlets.metrics import server
from streamlets.metrics.view import MetricsView
from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged
from tests.streamlets.metrics.scenes import NOW, full_status, status_of, waiting_status


@pytest.fixture
def view() -> Iterator[MetricsView]:
    """A view on a free port, of a run in which all streamlets work."""
    with MetricsView("127.0.0.1", 0, clock=lambda: NOW) as view:
        show(view, full_status())
        yield view


def show(view: MetricsView, status: RunStatus) -> None:
    """Let the view have a status."""
    view.event(RunStarted(NOW, "plant", ()), status)


def ask(view: MetricsView, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """Return the code and the content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_metrics_are_served(view: MetricsView) -> None:
    """Ours, and those of the runner's process."""
    code, text = ask(view, "/metrics")
    assert code == 200
    assert 'streamlets_records_in_total{port="in",query="out",streamlet="mean0"} 25.0' in text
    assert "process_resident_memory_bytes " in text
    assert ask(view, "/metrics?x=1")[0] == 200
    assert ask(view, "/metrics", "HEAD") == (200, "")


def test_many_scrapes_compute_the_metrics_once(view: MetricsView, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that changes within a second is shown by the next computation."""
    first = ask(view, "/metrics")[1]
    show(view, waiting_status())
    monkeypatch.setattr(view._exposition, "_until", float("inf"))
    assert ask(view, "/metrics")[1] == first
    monkeypatch.setattr(view._exposition, "_until", 0.0)
    assert ask(view, "/metrics")[1] != first


def test_probes(view: MetricsView) -> None:
    """A run is alive until it has ended, and ready when all streamlets run and are healthy."""
    code, text = ask(view, "/readyz")
    assert (code, json.loads(text)["ready"]) == (200, True)
    assert ask(view, "/healthz") == (200, '{"application": "plant", "health": "running"}\n')
    show(view, waiting_status())
    code, text = ask(view, "/readyz")
    wait, stuck = json.loads(text)["streamlets"]
    assert code == 503
    assert (wait["state"], wait["health"], wait["reason"]) == ("backing-off", "healthy", "it broke")
    assert (stuck["state"], stuck["health"]) == ("running", "stuck")
    assert "app.py:3 in load" in stuck["reason"]
    assert ask(view, "/healthz")[0] == 200, "a restart of the container would not help"
    show(view, status_of(RunStarted(1.0, "plant", ("a",))))
    assert ask(view, "/readyz")[0] == 503, "it is starting"
    show(view, status_of(RunStarted(1.0, "plant", ("a",)), RunEnded(2.0, 0)))
    assert (ask(view, "/healthz")[0], ask(view, "/readyz")[0]) == (503, 503)


def test_no_page_has_a_secret(view: MetricsView) -> None:
    """Causes of failures pass the mask of the run before any view has them."""
    unit = UnitId("a", "out")

    def mask(event: Event) -> Event:
        return (
            replace(event, cause=event.cause.replace("hunter2", "(secret)"))
            if isinstance(event, UnitChanged)
            else event
        )

    publisher = Publisher([view], mask)
    publisher.publish(RunStarted(1.0, "plant", ("a",)))
    publisher.publish(UnitChanged(2.0, unit, "failed", "cannot log in with hunter2"))
    pages = {path: ask(view, path)[1] for path in ("/metrics", "/readyz", "/healthz")}
    assert "(secret)" in pages["/readyz"]
    assert not [path for path, text in pages.items() if "hunter2" in text]


@pytest.mark.parametrize("path", ["/", "/metrics/", "/../etc/passwd", "/%2e%2e/etc/passwd", "/status.json"])
def test_there_is_nothing_else(view: MetricsView, path: str) -> None:
    """No file is ever served."""
    code, text = ask(view, path)
    assert code == 404
    assert text == "not found; there are /metrics, /healthz, /readyz\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_only_reading_is_possible(view: MetricsView, method: str) -> None:
    """Other methods are refused."""
    assert ask(view, "/metrics", method)[0] == 501


def test_a_page_of_another_site_reads_nothing_by_a_rebound_name(view: MetricsView) -> None:
    """On the loopback, the name of the host must be the loopback's."""
    assert ask(view, "/metrics", Host="evil.example")[0] == 403
    assert ask(view, "/metrics", Host="127.0.0.1.evil.example:80")[0] == 403
    for host in ("localhost", "LOCALHOST:9464", "127.0.0.1:1", "[::1]:9464"):
        assert ask(view, "/metrics", Host=host)[0] == 200


def test_slow_clients_and_many_connections_are_cut_off(view: MetricsView, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections have a limit in number and time, after which others are served again."""
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 4)
    monkeypatch.setattr(server, "MOST_SECONDS", 0.5)
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", view.port), 60)) for _ in range(40)]
        for client in clients:
            with suppress(OSError):  # it was closed at once
                client.sendall(b"GET /metrics HT")
        for client in clients:
            with suppress(ConnectionError):
                assert client.recv(1) == b"", "nobody is answered who does not ask"
    pause = threading.Event()
    assert any(_answers(view) or pause.wait(0.05) for _ in range(2000))


def _answers(view: MetricsView) -> bool:
    try:
        return ask(view, "/metrics")[0] == 200
    except OSError:
        return False


def test_bytes_that_are_not_http(view: MetricsView) -> None:
    """They are refused or ignored, and the next client is served."""
    for data in (b"\0" * 100, b"GET /metrics\r\n\r\n", b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n", b""):
        with socket.create_connection(("127.0.0.1", view.port), timeout=60) as connection:
            connection.sendall(data)
    with socket.create_connection(("127.0.0.1", view.port), timeout=60) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n")
        assert b" 431 " in connection.recv(100)
    assert ask(view, "/metrics")[0] == 200


def test_an_address_in_use_is_an_error_before_anything_runs(view: MetricsView) -> None:
    """The port is taken when the view is opened, not when it is entered."""
    with pytest.raises(OSError, match="in use"):
        MetricsView("127.0.0.1", view.port)


def test_the_port_is_free_after_the_view(view: MetricsView) -> None:
    """The next version of an upgrade takes it again."""
    with MetricsView("127.0.0.1", 0) as first:
        port = first.port
    with MetricsView("127.0.0.1", port) as second:
        assert second.port == port


def test_a_failure_of_the_computation_shows_no_frames(view: MetricsView, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client has an error, the run goes on."""
    monkeypatch.setattr(view, "_status", None)
    assert ask(view, "/readyz") == (500, "internal error\n")
