"""`Reporter`: from the status of a run to OpenLineage events; each streamlet is a job with a run of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from streamlets.lineage.application import ApplicationLineage
from streamlets.lineage.model import StreamletLineage
from streamlets.runner.events.status import RunStatus, StreamletStatus
from streamlets.runner.views import ViewContext

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent

INTERVAL = 60.0
"""Seconds between two events of a streamlet that runs."""

_ENDS = {"completed": "COMPLETE", "failed": "FAIL", "stopped": "ABORT"}
"""The last event of a run, by the state of its streamlet."""


@dataclass(slots=True)
class _OpenRun:
    """A run that has begun: its id, and when its last event was."""

    id: str
    reported: float


class Reporter:
    """Makes the events of the streamlets of a run.

    Arguments:
        context: the run.
        send: takes each event.
    """

    def __init__(self, context: ViewContext, send: Callable[[RunEvent], None]) -> None:
        from openlineage.client.facet_v2 import set_producer

        from streamlets.lineage.openlineage.jobs import Jobs

        set_producer(producer())
        self._plan, self._bounded, self._send = context.plan, context.bounded, send
        self._jobs = Jobs(context.plan, context.state.topics)
        self._open: dict[str, _OpenRun] = {}

    def learn(self, known: Mapping[str, StreamletLineage], time: float) -> None:
        """Take the lineage of the streamlets, and report it for those that run."""
        self._jobs.lineage = ApplicationLineage(self._plan, known)
        for ref in self._open:
            self._emit(ref, "RUNNING", time)

    def report(self, time: float, status: RunStatus) -> None:
        """Report what has changed.

        Arguments:
            time: when it happened, in seconds since the epoch.
            status: the status after it.
        """
        for streamlet in status.streamlets:
            if not streamlet.units:
                continue
            end = _ENDS.get(streamlet.state)
            if end is None:
                self._go_on(streamlet.ref, time)
            elif streamlet.ref in self._open:
                self._emit(streamlet.ref, end, time, streamlet)

    def abort(self, time: float) -> None:
        """Report that everything which still runs has ended."""
        for ref in list(self._open):
            self._emit(ref, "ABORT", time)

    def _go_on(self, ref: str, time: float) -> None:
        from openlineage.client.uuid import generate_new_uuid

        if ref not in self._open:
            self._open[ref] = _OpenRun(str(generate_new_uuid()), time)
            self._emit(ref, "START", time)
        elif time - self._open[ref].reported >= INTERVAL:
            self._emit(ref, "RUNNING", time)

    def _emit(self, ref: str, type: str, time: float, failed: StreamletStatus | None = None) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import job_type_job

        streamlet, run = self._plan.streamlet(ref), self._open[ref]
        run.reported = time
        kind = job_type_job.JobTypeJobFacet("BATCH" if self._bounded else "STREAMING", "STREAMLETS", "STREAMLET")
        self._send(
            RunEvent(
                eventType=RunState[type],
                eventTime=datetime.fromtimestamp(time, UTC).isoformat(),
                run=Run(run.id, facets=self._facets(failed if type == "FAIL" else None)),
                job=Job(namespace(), f"{self._plan.name}.{ref}", facets={"jobType": kind}),
                inputs=self._jobs.inputs(streamlet),
                outputs=self._jobs.outputs(streamlet),
                producer=producer(),
            )
        )
        if type in _ENDS.values():
            del self._open[ref]

    def _facets(self, failed: StreamletStatus | None) -> dict[str, Any]:
        """Return the facets of a run; the events of a run have no secrets, so the cause of a failure has none."""
        from openlineage.client.facet_v2 import error_message_run, processing_engine_run

        facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
                version("pyspark"), "spark", _own_version()
            )
        }
        if failed is not None:
            frames = "\n".join(frame for unit in failed.units for frame in unit.frames)
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(failed.cause, "PYTHON", frames or None)
        return facets


def namespace() -> str:
    """Return the namespace of jobs: `OPENLINEAGE_NAMESPACE`, or `streamlets`."""
    return os.environ.get("OPENLINEAGE_NAMESPACE") or "streamlets"


def producer() -> str:
    """Return the URI of this version of Streamlets as the producer of events."""
    return f"pkg:pypi/streamlets@{_own_version()}"


def _own_version() -> str:
    return version("streamlets")
