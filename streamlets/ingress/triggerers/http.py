"""`http`: a discovery for each request to a port of this machine."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from blueprint.catalog import ParameterType
from blueprint.wording import counted
from streamlets.ingress.triggerers.base import Trigger, TriggererContext, TriggererOption, TriggererProblem
from streamlets.ingress.triggerers.options import missing_strings, string_of, unknown_keys

_PATH = TriggererOption(name="path", description="the path of the requests, which begins with `/`", default="/")
_MAX_BODY = 1 << 20
"""The largest request in bytes."""

_TIMEOUT = 10.0
"""Seconds that a client may take to send its request, so that idle connections do not keep threads."""


class HttpTriggerer:
    """Calls for a discovery for each POST to `http://127.0.0.1:<port><path>`; the event is the body, as a string.

    A request needs the header `Authorization: Bearer <token>`.

    The answers: 202 if the discovery will run, 409 if it was dropped because one is running, 401 for another token.
    """

    options = (
        TriggererOption(
            name="port",
            description="the port of 127.0.0.1 that it listens on",
            type=ParameterType.INTEGER,
            required=True,
        ),
        TriggererOption(
            name="token-file",
            description="a file with the token, of at least 16 characters",
            required=True,
            example="secrets/discover.token",
        ),
        _PATH,
    )

    _port: int
    _path: str
    _token: bytes
    _context: TriggererContext

    def __init__(self) -> None:
        self._server: ThreadingHTTPServer | None = None
        self._stopped = False

    def problems(self, config: Mapping[str, Any], context: TriggererContext) -> Iterator[TriggererProblem]:
        """Yield problems with the configuration."""
        yield from unknown_keys(config, self.options)
        port = config.get("port")
        if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
            found = "" if port is None else f", found `{port}`"
            yield TriggererProblem(
                "port", f"`port` must be a number from 1 to 65535{found}", ("such as `port = 8099`",)
            )
        elif port < 1024 and os.geteuid() != 0:
            yield TriggererProblem("port", f"only root may listen on the port {port}", ("use a port from 1024 on",))
        if not string_of(config, _PATH).startswith("/"):
            yield TriggererProblem("path", f"`path` must begin with `/`, found `{config['path']}`")
        lacking = tuple(missing_strings(config, self.options))
        yield from lacking
        if not lacking:
            try:
                _token(config, context)
            except ValueError as error:
                help = "write a random token to it, such as with `openssl rand -hex 32`, and `chmod 600`"
                yield TriggererProblem("token-file", str(error), (help,))

    def init(self, config: Mapping[str, Any], context: TriggererContext) -> None:
        """Take the port and read the token.

        Raises:
            ValueError: the configuration is invalid.
        """
        for problem in self.problems(config, context):
            raise ValueError(problem.message)
        self._port, self._path, self._token = config["port"], string_of(config, _PATH), _token(config, context)
        self._context = context

    def start(self, trigger: Trigger) -> None:
        """Begin to listen.

        Raises:
            OSError: another program uses the port.
        """
        if self._stopped:
            return
        try:
            server = _Server(("127.0.0.1", self._port), _handler(self._path, self._token, trigger))
        except OSError as error:
            raise OSError(f"cannot listen on 127.0.0.1:{self._port}: {error.strerror}") from None
        self._server = server
        self._context.run_in_thread(server.serve_forever, "http")

    def stop(self) -> None:
        """Close the port."""
        self._stopped = True
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Print no traceback: a client that hangs up is not an error of the source."""


def _token(config: Mapping[str, Any], context: TriggererContext) -> bytes:
    """Return the token in the file of a configuration.

    Raises:
        ValueError: the file cannot be read, or its content is too short to be a secret.
    """
    path = context.directory / Path(str(config["token-file"])).expanduser()
    context.secrets.follow(path)
    try:
        token = path.read_bytes().strip()
    except OSError as error:
        raise ValueError(f"cannot read the token in `{path}`: {error.strerror}") from None
    if len(token) < 16:
        raise ValueError(f"the token in `{path}` has {counted(len(token), 'character')}, expected at least 16")
    return token


def _handler(path: str, token: bytes, trigger: Trigger) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _TIMEOUT

        def do_POST(self) -> None:
            scheme, _, sent = self.headers.get("Authorization", "").partition(" ")
            length = self.headers.get("Content-Length", "0")
            if scheme != "Bearer" or not hmac.compare_digest(sent.strip().encode(), token):
                self._answer(401, "the token is missing or wrong")
            elif self.path != path:
                self._answer(404, "unknown path")
            elif not length.isdigit() or int(length) > _MAX_BODY:
                self._answer(413, f"the body must have a length of at most {_MAX_BODY} bytes")
            elif trigger(self.rfile.read(int(length)).decode("utf-8", "replace")):
                self._answer(202, "the discovery was started")
            else:
                self._answer(409, "dropped: a discovery is running")

        def _answer(self, status: int, message: str) -> None:
            body = json.dumps({"message": message}).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: what a request caused is an event of the source."""

    return Handler
