"""The view `metrics`: serves the metrics of a run, and the probes of a container."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Self

from streamlets.metrics.collector import CONTENT_TYPE, Exposition
from streamlets.metrics.family import Scene
from streamlets.metrics.probes import alive, ready
from streamlets.metrics.server import Answer, MetricsServer
from streamlets.metrics.topic_sizes import TopicSizes
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View
from streamlets.runner.views import ViewContext, ViewError

PORT = 9464
"""The port of `--view metrics` without a setting: the usual one of exporters in a process."""

_JSON = "application/json; charset=utf-8"


class Metrics:
    """Opens the view. Its argument is the port, which is `flow.metrics.port` by default."""

    def open(self, context: ViewContext) -> View:
        """Return the view.

        Raises:
            ViewError: the extra is not installed, the argument is not a port, or the port is in use.
        """
        settings = context.plan.settings.metrics
        text = context.argument or str(settings.port or PORT)
        if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
            raise ViewError(f"a port must be a number from 1 to 65535, found `{text}`")
        try:
            return MetricsView(settings.host, int(text), TopicSizes(context.plan, context.state))
        except ImportError:
            raise ViewError("it needs prometheus-client: pip install 'streamlets[metrics]'") from None
        except OSError as error:
            problem = f"{settings.host}:{text}: {error.strerror or error}"
            raise ViewError(f"{problem}; set `flow.metrics.port` to a free port, or `flow.metrics.host`") from None


class MetricsView(View):
    """Keeps the last status, from which each scrape computes its metrics.

    Arguments:
        host: the address to listen on.
        port: the port; 0 for a free one.
        sizes: the sizes of the topics.
        clock: seconds since the epoch.

    Attributes:
        port: the port that it listens on.

    Raises:
        ImportError: the extra is not installed.
        OSError: the address is in use, or not an address of this machine.
    """

    def __init__(
        self, host: str, port: int, sizes: TopicSizes | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._status = RunStatus()
        self._sizes, self._clock = sizes, clock
        self._exposition = Exposition(self._scene)
        pages = {
            "/metrics": lambda: Answer(200, CONTENT_TYPE, self._exposition.render()),
            "/healthz": lambda: _probe(*alive(self._status)),
            "/readyz": lambda: _probe(*ready(self._status, self._clock())),
        }
        self._server = MetricsServer(host, port, pages)
        self.port = self._server.port

    def __enter__(self) -> Self:
        self._server.__enter__()
        if self._sizes is not None:
            self._sizes.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._sizes is not None:
            self._sizes.__exit__(*error)
        self._server.__exit__(*error)

    def event(self, event: Event, status: RunStatus) -> None:
        """Keep the status for the next scrape."""
        self._status = status

    def _scene(self) -> Scene:
        return Scene(self._status, self._clock(), self._sizes.bytes if self._sizes is not None else {})


def _probe(good: bool, data: dict[str, object]) -> Answer:
    return Answer(200 if good else 503, _JSON, json.dumps(data).encode() + b"\n")
