"""What brings data into an application, as JSON: its spouts, and the tasks of its batch sources."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamlets.ingress.batch_sources.task_states import SourceTasks, TaskEntry
    from streamlets.runner.state_directory.directory import StateDirectory

_FINAL = ("completed", "failed")
"""States that a spout keeps when the run has ended."""


def spouts_of(state: StateDirectory) -> list[dict[str, object]]:
    """Return the data about each spout that has run, by name."""
    from streamlets.ingress.spouts.report import read_report, report_file, staged
    from streamlets.runner.events.status_file import read_status

    written = read_status(state.status_file)
    running = state.owner() is not None
    states = {
        streamlet.ref: streamlet.state if running or streamlet.state in _FINAL else "stopped"
        for streamlet in (written.status.streamlets if written else ())
    }
    refs = sorted(directory.name for directory in state.spouts.glob("*") if directory.is_dir())
    entries: list[dict[str, object]] = []
    for ref in refs:
        report = read_report(report_file(state, ref))
        transactions, staged_bytes = staged(state, ref)
        log = state.logs / f"{ref}.log"
        age = None if report.last_commit is None else max(0.0, time.time() - report.last_commit)
        entries.append(
            {"ref": ref, "state": states.get(ref, "stopped"), **asdict(report), "age": age,
             "staged_transactions": transactions, "staged_bytes": staged_bytes,
             "log": str(log) if log.exists() else "-"}
        )  # fmt: skip
    return entries


def counts_of(source: SourceTasks) -> dict[str, Any]:
    """Return how many tasks a batch source has discovered and read, and how its discovery is."""
    progress, waiting, oldest = source.progress, source.waiting, source.oldest
    return {
        "streamlet": source.streamlet,
        "discovered": source.discovered,
        "read": source.discovered - waiting,
        "waiting": waiting,
        "oldest": oldest,
        "oldest_age": None if oldest is None else max(0.0, time.time() - oldest),
        "failed": len(source.failed),
        "repeated": progress.repeated,
        "dropped": progress.dropped,
        "discoveries": progress.discoveries,
        "running": progress.running,
        "failure": progress.failure,
    }


def data_of(entry: TaskEntry) -> dict[str, object]:
    """Return a task as JSON."""
    task, failure = entry.task, entry.failure
    return {
        "number": task.number,
        "state": entry.state,
        "task": task.value if task.encoding == "json" else task.payload.hex(),
        "encoding": "json" if task.encoding == "json" else "hex",
        "key": task.key,
        "event": task.event,
        "discovered": task.time,
        "retry_of": task.retry_of,
        "failure": None
        if failure is None
        else {
            "attempts": failure.attempts,
            "reason": failure.reason,
            "error": failure.error,
            "time": failure.time,
        },
    }
