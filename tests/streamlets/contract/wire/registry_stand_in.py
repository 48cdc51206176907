"""A schema registry for tests: a server on loopback with Confluent's REST protocol, as far as clients of topics use it.

It checks that a new schema of a subject can read the records of the last one (compatibility BACKWARD).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from blueprint.avro import check, parse_contract


class _RefusalError(Exception):
    """An answer with an error: status, code of the registry, message."""


@dataclass
class RegistryStandIn:
    """The content of the registry.

    Arguments:
        url: where it listens.
        schemas: the schemas by id, from 1.
        subjects: the ids of each subject's versions, by name.
        available: whether it answers; otherwise it closes each connection.
        compatibility: whether a new schema must be compatible with the last one of its subject.
    """

    url: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    available: bool = True
    compatibility: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str, body: Any) -> Any:
        """Return the answer to a request."""
        with self._lock:
            for verb, pattern, action in (
                ("GET", r"/subjects", lambda: sorted(self.subjects)),
                ("GET", r"/schemas/ids/(\d+)", lambda n: self._schema(int(n))),
                ("GET", r"/subjects/([^/]+)/versions", lambda s: list(range(1, len(self._ids(s)) + 1))),
                ("GET", r"/subjects/([^/]+)/versions/(latest|\d+)", self._version),
                ("POST", r"/subjects/([^/]+)/versions", lambda s: {"id": self.register(s, body)}),
                ("POST", r"/subjects/([^/]+)", lambda s: self._lookup(s, body)),
            ):
                match = re.fullmatch(pattern, path)
                if match and verb == method:
                    return action(*match.groups())
        raise _RefusalError(404, 404, f"no such resource {path}")

    def register(self, subject: str, body: dict[str, Any]) -> int:
        """Return the id of a schema of a subject, which is new if no subject has the schema."""
        schema = {key: value for key, value in body.items() if key in ("schema", "schemaType", "references") and value}
        ids = self.subjects.get(subject, [])
        known = self._id(schema)
        if known in ids and known is not None:
            return known
        if self.compatibility and ids and schema.get("schemaType", "AVRO") == "AVRO":
            new, old = (parse_contract(text) for text in (schema["schema"], self.schemas[ids[-1]]["schema"]))
            if not check(old, new, suggest=False).compatible:
                raise _RefusalError(409, 409, "Schema being registered is incompatible with an earlier schema")
        if known is None:
            known = len(self.schemas) + 1
            self.schemas[known] = schema
        self.subjects.setdefault(subject, []).append(known)
        return known

    def _id(self, schema: dict[str, Any]) -> int | None:
        text = json.loads(schema["schema"])
        return next((n for n, stored in self.schemas.items() if json.loads(stored["schema"]) == text), None)

    def _schema(self, number: int) -> dict[str, Any]:
        if number not in self.schemas:
            raise _RefusalError(404, 40403, "Schema not found")
        return self.schemas[number]

    def _ids(self, subject: str) -> list[int]:
        if subject not in self.subjects:
            raise _RefusalError(404, 40401, f"Subject '{subject}' not found.")
        return self.subjects[subject]

    def _version(self, subject: str, version: str) -> dict[str, Any]:
        ids = self._ids(subject)
        number = len(ids) if version == "latest" else int(version)
        return {"subject": subject, "version": number, "id": ids[number - 1], **self.schemas[ids[number - 1]]}

    def _lookup(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        known = self._id(body)
        if known not in self._ids(subject):
            raise _RefusalError(404, 40403, "Schema not found")
        return self._version(subject, str(self.subjects[subject].index(known) + 1))


@contextmanager
def registry_stand_in() -> Iterator[RegistryStandIn]:
    """Start a registry, which ends with the context."""
    registry = RegistryStandIn()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            if not registry.available:
                self.close_connection = True
                return
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            try:
                status, data = 200, registry.answer(self.command, self.path.partition("?")[0], body)
            except _RefusalError as refusal:
                status, code, message = refusal.args
                data = {"error_code": code, "message": message}
            content = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _answer  # noqa: N815 - names of http.server

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
