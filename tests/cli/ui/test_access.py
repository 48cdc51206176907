"""Attacks on the page, each refused: with the run unharmed, without a record, a secret or a traceback in the answer."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cli.ui.access import BODY_LIMIT, SESSION, Access
from tests.cli.ui.conftest import ACCESS, HOST, Visitor
from tests.crossings.applications import KINDS, STATES, state_of, write

ACTIONS = "/api/applications/plant/actions"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An application that has run, with a secret in its environment and its launch file."""
    blueprint = write(KINDS["python"], tmp_path_factory.mktemp("access") / "plant")
    STATES["stopped"](blueprint)
    return blueprint


def _forged(session: str) -> str:
    """Return a cookie like another one, with a later end."""
    until, rest = session.split(".", 1)
    return f"{int(until) + 1}.{rest}"


WITHOUT_SESSION: dict[str, tuple[str, str, dict[str, str]]] = {
    "no token": ("GET", "/", {}),
    "an empty token": ("GET", "/?token=", {}),
    "a wrong token": ("GET", "/?token=the-tokem", {}),
    "a token that begins right": ("GET", "/?token=the-toke", {}),
    "two tokens, the first wrong": ("GET", "/?token=x&token=the-token", {}),
    "a token with a byte outside of ASCII": ("GET", "/?token=%ff", {}),
    "the token at another address": ("GET", "/api/applications?token=the-token", {}),
    "the token in a change": ("POST", f"{ACTIONS}?token=the-token", JSON),
    "a cookie of somebody else": ("GET", "/api/applications", {"cookie": "flow_session=99999999999.abc.def"}),
    "a cookie without a signature": ("GET", "/api/applications", {"cookie": "flow_session=99999999999.abc."}),
    "a cookie that is not one": ("GET", "/api/applications", {"cookie": "flow_session; \x00=;;="}),
    "a header of a proxy that is not there": ("GET", "/api/applications", {"x-user": "ann", "x-forwarded-user": "ann"}),
    "assets without a session": ("GET", "/assets/app.js", {}),
    "live messages without a session": ("GET", "/api/applications/plant/live", {}),
    "a login without a password to compare with": (
        "POST",
        "/login",
        {"content-type": "application/x-www-form-urlencoded"},
    ),
}


@pytest.mark.parametrize("attack", WITHOUT_SESSION)
def test_nobody_is_let_in_without_a_session(plant: Path, attack: str) -> None:
    """The answer says what to do, and nothing about the application."""
    method, path, headers = WITHOUT_SESSION[attack]
    response = Visitor(plant, entered=False).client.request(method, path, headers=headers, follow_redirects=False)
    assert response.status_code == 401
    assert "plant" not in response.text
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("change", ["forged", "of another server", "ended", "of a change"])
def test_cookies_that_this_server_has_not_given_are_refused(plant: Path, change: str) -> None:
    """A cookie with a later end, one with the signature of another secret, one that has ended, and another token."""
    visitor = Visitor(plant)
    session = visitor.client.cookies["flow_session"]
    value = {
        "forged": _forged(session),
        "of another server": replace(ACCESS, secret=b"t" * 32).new_session(time.time()),
        "ended": ACCESS.new_session(time.time() - SESSION - 1),
        "of a change": ACCESS.change_token(session),
    }[change]
    client = Visitor(plant, entered=False).client
    assert client.get("/api/applications", headers={"cookie": f"flow_session={value}"}).status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8265",
        "127.0.0.1",
        "127.0.0.1:8266",
        "127.0.0.1.evil.example:8265",
        "",
        f"{HOST}, evil",
    ],
)
def test_other_names_of_this_machine_are_refused(plant: Path, host: str) -> None:
    """A page of another site that resolves its own name to this machine reads nothing, with any cookie."""
    response = Visitor(plant).client.get("/api/applications", headers={"host": host})
    assert (response.status_code, "plant" in response.text) == (421, False)


CHANGES: dict[str, tuple[Callable[[dict[str, str]], dict[str, str]], int]] = {
    "another origin": (lambda right: right | {"origin": "http://evil.example"}, 403),
    "another port": (lambda right: right | {"origin": "http://127.0.0.1:8266"}, 403),
    "another scheme": (lambda right: right | {"origin": f"https://{HOST}"}, 403),
    "no origin": (lambda right: {key: value for key, value in right.items() if key != "origin"}, 403),
    "the origin of a sandbox": (lambda right: right | {"origin": "null"}, 403),
    "no token": (lambda right: right | {"x-flow-token": ""}, 403),
    "the token of another session": (lambda right: right | {"x-flow-token": ACCESS.change_token("x")}, 403),
    "a form of another site": (lambda right: right | {"content-type": "text/plain"}, 415),
}


@pytest.mark.parametrize("attack", CHANGES)
def test_changes_of_other_pages_are_refused(plant: Path, attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session alone changes nothing: the request must be of a page of this server."""
    monkeypatch.setattr("cli.ui.actions.ask", lambda *_, **__: pytest.fail("the runner was asked"))
    visitor = Visitor(plant)
    change, status = CHANGES[attack]
    headers = change(visitor.headers | JSON)
    response = visitor.client.post(ACTIONS, headers=headers, content='{"action": "pause", "streamlet": "double"}')
    assert response.status_code == status


BODIES: dict[str, tuple[str | bytes, int]] = {
    "no JSON": ("pause", 400),
    "a list": ("[]", 400),
    "not text": (b"\xff\xfe", 400),
    "nested deeply": ("[" * 20_000, 400),
    "an action that does not exist": ('{"action": "delete"}', 409),
    "no action": ("{}", 409),
    "a field that does not exist": ('{"action": "pause", "streamlet": "double", "path": "/etc"}', 409),
    "a value of another type": ('{"action": "scale", "streamlet": "double", "replicas": "2"}', 409),
    "a number as truth": ('{"action": "replay", "port": "double", "dry_run": 1}', 409),
    "too many replicas": ('{"action": "scale", "streamlet": "double", "replicas": 10000}', 409),
    "a streamlet that does not exist": ('{"action": "pause", "streamlet": "../../etc"}', 409),
    "an option as a name": ('{"action": "replay", "port": "--help"}', 503),
    "too large": ('{"action": "pause", "streamlet": "' + "x" * BODY_LIMIT + '"}', 413),
}


@pytest.mark.parametrize("attack", BODIES)
def test_forged_actions_are_refused(plant: Path, attack: str) -> None:
    """One message, no traceback; nothing has been asked of a runner."""
    visitor = Visitor(plant)
    body, status = BODIES[attack]
    response = visitor.client.post(ACTIONS, headers=visitor.headers | JSON, content=body)
    assert (response.status_code, "Traceback" in response.text) == (status, False), response.text
    assert not list(state_of(plant).control.glob("*"))


def test_a_body_without_a_length_is_cut_off(plant: Path) -> None:
    """The limit holds for what is sent, not for what is announced."""
    visitor = Visitor(plant)
    parts = iter([b'{"action": "', *[b"x" * 1024] * 100, b'"}'])
    response = visitor.client.post(ACTIONS, headers=visitor.headers | JSON, content=parts)
    assert response.status_code == 413


def test_nothing_is_changed_in_a_read_only_server(plant: Path) -> None:
    """A session allows only to look."""
    visitor = Visitor(plant, read_only=True)
    body = '{"action": "pause", "streamlet": "double"}'
    response = visitor.client.post(ACTIONS, headers=visitor.headers | JSON, content=body)
    assert (response.status_code, "read-only" in response.json()["error"]) == (403, True)


PATHS = (
    "/assets/..%2fapp.py", "/assets/..%2f..%2fapp.py", "/assets/%2e%2e/app.py",
    "/assets//etc/passwd", "/assets/%2fetc%2fpasswd",
    "/assets/index.html", "/api/applications/plant/logs/../status/launch.json",
    "/api/applications/plant/logs/..%2f..%2fstatus%2flaunch.json", "/api/applications/plant/logs/%2fetc%2fpasswd",
    "/api/applications/plant/logs/run.log%00", "/api/applications/..%2f..%2fetc/structure",
    "/api/applications/%2e%2e/structure", "/api/applications/plant/topics/..%2f..%2f..%2fetc/records",
    "/api/applications/plant/streamlets/%3Cscript%3E", "/api/nothing", "/assets/",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_nowhere_else(plant: Path, path: str) -> None:
    """A name in an address is looked up among what is known, and never becomes a path of a file."""
    response = Visitor(plant).client.get(path)
    assert response.status_code == 404
    assert "root:" not in response.text
    assert "import" not in response.text


def test_every_answer_forbids_what_is_not_the_servers_own(plant: Path) -> None:
    """No script in a page or from elsewhere, no frame, no guessed type, nothing kept: also in refusals."""
    visitor = Visitor(plant)
    for path in (
        "/",
        "/plant",
        "/assets/app.js",
        "/api/applications",
        "/api/nothing",
        "/api/applications/plant/structure",
    ):
        headers = visitor.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
        assert headers["cache-control"] == "no-store"
    refused = Visitor(plant, entered=False).client.get("/")
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]


def test_pages_have_no_script_in_them_and_load_nothing_from_elsewhere(plant: Path) -> None:
    """Scripts are files of the server; what an application says becomes text, never markup."""
    page = Visitor(plant).client.get("/plant").text
    assert re.findall(r"<script(?![^>]* src=\"/assets/)", page) == []
    sources = [file.read_text() for file in Path("cli/ui/assets").rglob("*.js")]
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "https://",
        "new Function",
    ):
        assert not any(forbidden in source for source in sources), forbidden
    assert {url for source in sources for url in re.findall(r"http://[\w./]+", source)} <= {
        "http://www.w3.org/2000/svg"
    }


def test_the_cookie_is_for_this_server_alone(plant: Path) -> None:
    """Scripts cannot read it, and other sites do not send it; the token leaves the address."""
    client = Visitor(plant, entered=False).client
    response = client.get("/?token=the-token", follow_redirects=False)
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert response.headers["location"] == "/"
    secure = Visitor(plant, replace(ACCESS, secure=True), entered=False).client.get(
        "/?token=the-token", follow_redirects=False
    )
    assert "secure" in secure.headers["set-cookie"].lower()


def test_a_password_or_a_proxy_lets_in(plant: Path) -> None:
    """With a password, no token is valid; a header counts only from the proxy."""
    access = replace(ACCESS, token="", password="open sesame")
    client = Visitor(plant, access, entered=False).client
    assert client.get("/").status_code == 401
    assert client.get("/?token=").status_code == 401
    assert client.post("/login", data={"password": "open"}).status_code == 403
    assert client.post("/login", data={"password": "open sesame"}, follow_redirects=False).status_code == 303
    assert client.get("/api/applications").status_code == 200
    proxied = replace(ACCESS, token="", user_header="x-user", proxies=("testclient",))
    assert Visitor(plant, proxied, entered=False).client.get("/", headers={"x-user": "ann"}).status_code == 200
    assert Visitor(plant, proxied, entered=False).client.get("/").status_code == 401
    direct = replace(proxied, proxies=("10.0.0.1",))
    assert Visitor(plant, direct, entered=False).client.get("/", headers={"x-user": "ann"}).status_code == 401


def test_no_answer_has_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters and settings that are secrets are masked; the arguments of the run are not shown."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    blueprint.write_text(
        blueprint.read_text() + 'flow.streamlets.double.spark { "spark.hadoop.fs.s3a.secret.key" = "hunter2" }\n'
    )
    STATES["stopped"](blueprint)
    state_of(blueprint).keep_launch((str(blueprint), "flow.channels.kafka.password=hunter2"))
    client = Visitor(blueprint).client
    for answer in (
        "structure",
        "events",
        "streamlets/double",
        "streamlets/double/settings",
        "topics",
        "topics/out",
        "logs",
        "findings",
    ):
        assert "hunter2" not in client.get(f"/api/applications/plant/{answer}").text, answer


# Against a real server.


class Server:
    """A server of `flow ui` in a process of its own."""

    def __init__(self, path: Path, home: Path, *options: str) -> None:
        command = [sys.executable, "-m", "streamlets", "ui", str(path), "--port", "0", *options]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": ":".join(sys.path)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)/\?token=(\S+)", line)
        assert found, line + self.process.stdout.read()
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def get(self, path: str) -> int:
        """Return the status of an answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        return status


@pytest.fixture(scope="module")
def server(plant: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(plant, tmp_path_factory.mktemp("home"))
    yield server
    server.process.terminate()
    server.process.communicate(timeout=60)


def test_a_thousand_connections_leave_the_server_usable(server: Server) -> None:
    """What waits without a request is closed; then others are served again."""
    held = []
    for _ in range(1000):
        connection = socket.socket()
        connection.settimeout(10)
        try:
            connection.connect((server.host, server.port))
        except OSError:
            break
        held.append(connection)
    assert len(held) > 200
    for _ in range(600):
        if server.get("/healthz") == 200:
            break
        time.sleep(0.2)
    else:
        pytest.fail("the server does not answer beside idle connections")
    for connection in held:
        connection.close()


def test_a_client_that_never_finishes_its_request_is_cut_off(server: Server) -> None:
    """A connection that sends its request byte by byte costs a place for seconds only."""
    with socket.create_connection((server.host, server.port), timeout=60) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert slow.recv(100) == b""


@pytest.mark.parametrize(
    "request_",
    [b"\x00" * 100, b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000],
)
def test_requests_that_are_none_are_refused(server: Server, request_: bytes) -> None:
    """The connection is closed with an error, and the server goes on."""
    with socket.create_connection((server.host, server.port), timeout=60) as client:
        try:
            client.sendall(request_)
            answer = client.recv(100)
        except ConnectionError:
            answer = b""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert server.get("/healthz") == 200


def test_the_server_listens_on_this_machine_alone(server: Server) -> None:
    """Other addresses of the machine are not answered."""
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {
        "127.0.0.1",
        "127.0.1.1",
    }
    for address in addresses:
        with pytest.raises(OSError), socket.create_connection((str(address), server.port), timeout=5):
            pass
    assert server.get("/healthz") == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_server_ends_normally(plant: Path, tmp_path: Path, number: signal.Signals) -> None:
    """With exit code 0 and without a further line."""
    server = Server(plant, tmp_path)
    assert server.get("/healthz") == 200
    server.process.send_signal(number)
    output, _ = server.process.communicate(timeout=60)
    assert (server.process.returncode, "stopped" in output, "Traceback" in output) == (0, False, False)


REFUSED = {
    "an address of the network without TLS": (("--host", "0.0.0.0", "--password-file", "{password}"), "--certificate"),
    "an address of the network without a password": (("--host", "0.0.0.0", "--insecure"), "--password-file"),
    "a name of the network": (("--host", "page.example"), "--certificate"),
    "a header without a proxy": (("--user-header", "x-user"), "--proxy"),
    "a key without a certificate": (("--key", "key.pem"), "--certificate"),
    "an empty password": (("--password-file", "{empty}"), "no password"),
    "a password that cannot be read": (("--password-file", "{missing}"), "cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_open_server_must_be_wanted(
    plant: Path, tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says what is missing, and does not listen."""
    from cli.main import main

    (tmp_path / "password").write_text("open sesame\n")
    (tmp_path / "empty").write_text("\n")
    options, hint = REFUSED[case]
    places = {name: str(tmp_path / name) for name in ("password", "empty", "missing")}
    with pytest.raises(SystemExit) as ended:
        main(["ui", str(plant), "--port", "0", *(option.format(**places) for option in options)])
    assert ended.value.code in (1, 2)
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("command", [("ui", "--port", "0"), ("status",), ("stop",)])
def test_a_file_must_be_a_blueprint(plant: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Another file of the project is not taken for one; one with errors is."""
    from cli.main import main

    other = plant.with_name("notes.conf")
    other.write_text("flow { application = plant }")
    with pytest.raises(SystemExit) as ended:
        main([*command, str(other)])
    assert (ended.value.code, "is not a blueprint" in capsys.readouterr().err) == (2, True)
    other.unlink()


def test_a_port_in_use_is_one_message(plant: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """It says which port, and what to do."""
    from cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["ui", str(plant), "--port", str(server.port)])
    assert ended.value.code == 1
    assert f"port {server.port}" in capsys.readouterr().err


def test_sessions_stay_valid_over_a_restart_of_the_server(tmp_path: Path) -> None:
    """The secret that signs them is kept in a file that only its user can read; a damaged one is replaced."""
    from cli.ui.server import session_secret

    file = tmp_path / "cache" / "page-secret"
    secret = session_secret(file)
    assert session_secret(file) == secret
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("no secret")
    assert session_secret(file) not in (secret, b"")
    session = Access(secret=secret).new_session(time.time())
    assert Access(secret=secret).is_session(session, time.time())
