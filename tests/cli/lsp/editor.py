"""An editor for tests and benchmarks: a client of the Language Server Protocol on the pipes of `flow lsp`."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread
from types import TracebackType
from typing import Any

PATIENCE = 120.0
"""Seconds that a test waits for an answer."""


class Editor:
    """An editor with one open project.

    Arguments:
        directory: the working directory of the server.
        annotations: whether it can ask its user to confirm a change.
    """

    def __init__(self, directory: Path, *, annotations: bool = True) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "streamlets", "lsp"],
            cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._numbers = itertools.count(1)
        self._versions = itertools.count(1)
        self._answers: dict[int, Queue[Any]] = {}
        self._events: Queue[Any] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        workspace: dict[str, object] = {"workspaceEdit": {"documentChanges": True}}
        if annotations:
            workspace["workspaceEdit"] = {"documentChanges": True, "changeAnnotationSupport": {}}
        self.capabilities = self.ask(
            "initialize", {"processId": None, "rootUri": directory.as_uri(), "capabilities": {"workspace": workspace}}
        )["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.ask("shutdown", None)
            self.notify("exit", None)
            self._server.wait(PATIENCE)
        finally:
            self._server.kill()

    def notify(self, method: str, parameters: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": parameters})

    def ask(self, method: str, parameters: object) -> Any:
        """Send a request, and return its result.

        Raises:
            RuntimeError: the answer is an error; the message is that of the server.
        """
        number = next(self._numbers)
        self._answers[number] = Queue()
        self._send({"id": number, "method": method, "params": parameters})
        answer = self._answers[number].get(timeout=PATIENCE)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def open(self, file: Path) -> None:
        """Open a file."""
        text = file.read_text(encoding="utf-8")
        document = {"uri": file.as_uri(), "languageId": "hocon", "version": next(self._versions), "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def close(self, file: Path) -> None:
        """Close a file."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})

    def type(self, file: Path, line: int, character: int, text: str, *, replacing: int = 0) -> None:
        """Replace characters of a line, both from 0, by a text."""
        start, end = {"line": line, "character": character}, {"line": line, "character": character + replacing}
        change = {"range": {"start": start, "end": end}, "text": text}
        document = {"uri": file.as_uri(), "version": next(self._versions)}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def at(self, file: Path, line: int, character: int, **more: object) -> dict[str, object]:
        """Return the parameters of a request about a place, both from 0."""
        place = {"line": line, "character": character}
        return {"textDocument": {"uri": file.as_uri()}, "position": place, **more}

    def event(self, method: str) -> Any:
        """Wait for the next notification of a kind, and return its parameters."""
        while True:
            event = self._events.get(timeout=PATIENCE)
            if event["method"] == method:
                return event["params"]

    def findings(self, file: Path) -> list[Any]:
        """Wait for the next findings of a file."""
        while True:
            event = self.event("textDocument/publishDiagnostics")
            if event["uri"] == file.as_uri():
                return list(event["diagnostics"])

    def _send(self, message: dict[str, object]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._server.stdin.flush()

    def _read(self) -> None:
        stream = self._server.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():  # other headers
                pass
            message = json.loads(stream.read(length))
            if "method" not in message:
                self._answers[message["id"]].put(message)
            else:
                self._events.put(message)
        for pending in self._answers.values():
            pending.put({"error": {"message": "the server has exited"}})
