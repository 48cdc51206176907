"""The view `ui`: the page of a run, served by a process that ends with the run."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from typing import Self

import click

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View
from streamlets.runner.views import ViewContext, ViewError

_PATIENCE = 5.0
"""Seconds that the page has to end, or to get a port that the page of a killed run still has."""

_PAUSE = 0.5


class RunPage:
    """Opens the page of a run; its argument is the port, "" for the default and 0 for any."""

    def open(self, context: ViewContext) -> View:
        """Return the view, whose page listens already.

        A new version that has taken over runs without a page rather than not at all.

        Raises:
            ViewError: the page cannot be served: the port is in use, or a package is missing.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            server, answer = _started(context)
            if server is not None:
                click.echo(answer, err=True)
                return _Served(server)
            if os.strerror(errno.EADDRINUSE) not in answer or time.monotonic() >= end:
                break
            time.sleep(_PAUSE)
        if not context.state.taken_over:
            raise ViewError(answer)
        click.echo(f"warning: the run has no page: {answer}", err=True)
        return _Served(None)


def _started(context: ViewContext) -> tuple[subprocess.Popen[str] | None, str]:
    """Start the server; return it with the line that has its address, or None with the reason why it has exited."""
    plan, state = context.plan, context.state
    command = [sys.executable, "-m", "streamlets", "ui", plan.blueprint, "--ends-with-stdin"]
    place = ["--state-dir", str(state.root.absolute()), "--application", state.application]
    port = ["--port", context.argument] if context.argument else []
    with tempfile.TemporaryFile("w+") as errors:
        server = subprocess.Popen(
            [*command, *place, *port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            start_new_session=True,  # Ctrl-C drains the run, which the page shows
        )  # fmt: skip
        assert server.stdout is not None
        if address := server.stdout.readline().strip():
            return server, address
        server.communicate()
        errors.seek(0)
        reason = errors.read().strip().removeprefix("error: ").replace("`--port`", "`--ui PORT`")
    return None, reason or f"it has exited with code {server.returncode}"


class _Served(View):
    """The process of the page, which reads the state directory and needs no events."""

    def __init__(self, server: subprocess.Popen[str] | None) -> None:
        self._server = server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End the page."""
        if self._server is None:
            return
        self._server.terminate()
        try:
            self._server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        for stream in (self._server.stdin, self._server.stdout):
            if stream is not None:
                stream.close()

    def event(self, event: Event, status: RunStatus) -> None:
        """Show nothing: the page reads the files that the run writes."""
