"""A streamlet as its last run described it, and the logs of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.comparison.descriptor import DescribedStreamlet
from blueprint.quantities import with_singulars
from streamlets.runner.deployment import described
from streamlets.runner.events.log_records import records_of
from streamlets.runner.samples.batches import read_batches
from streamlets.runner.samples.reading import read_samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from blueprint.comparison.descriptor import Port
    from cli.ui.served import Served
    from streamlets.runner.samples.sample import Sample

_TAIL = 64 * 1024
"""The bytes from the end of a log that are shown."""


def streamlet(served: Served, ref: str) -> dict[str, Any] | None:
    """Return a streamlet with its ports, contracts, parameters and settings; None if there is none with this name.

    Without the descriptor of the last run, none of them are known.

    Raises:
        DescriptorError, OSError, UnicodeDecodeError: the descriptor of the last run cannot be read.
    """
    known = described(served.state)
    found = known.streamlets.get(ref) if known is not None else DescribedStreamlet(class_name="")
    if found is None:
        return None
    settings = {
        "trigger": found.trigger,
        **{f"triggers.{query}": trigger for query, trigger in found.triggers.items()},
        "replicas": found.replicas,
        "group": found.group,
        **{f"retry.{key}": value for key, value in found.retry.items()},
        **{f"spark.{key}": value for key, value in found.spark.items()},
        **{f"volume-mounts.{name}": path for name, path in found.volume_mounts.items()},
        **found.supervision,
        **_openings("inlets", found.inlets),
        **_openings("outlets", found.outlets),
    }
    return {
        "ref": ref,
        "class": found.class_name,
        "inlets": {name: _port(port) for name, port in found.inlets.items()},
        "outlets": {name: _port(port) for name, port in found.outlets.items()},
        "parameters": dict(found.parameters),
        "settings": {
            key: with_singulars(value) if isinstance(value, str) else value for key, value in settings.items()
        },
    }


def _openings(side: str, ports: Mapping[str, Port]) -> dict[str, Any]:
    """Return the settings of ports that decide when the streamlet starts, by their keys."""
    return {f"{side}.{name}.{key}": value for name, port in ports.items() for key, value in port.opening.items()}


def _port(port: Port) -> dict[str, Any]:
    return {"topic": port.topic, "record": port.contract.record.name, "schema": json.loads(port.contract.json)}


def samples(served: Served, ref: str, since: float) -> list[dict[str, Any]]:
    """Return the samples of a streamlet since a time, oldest first: sums over its queries, the busiest for `busy`.

    Arguments:
        since: in seconds since the epoch.
    """
    at: dict[float, list[Sample]] = {}
    for sample in read_samples(served.state, since):
        if sample.streamlet == ref:
            at.setdefault(sample.time, []).append(sample)
    return [_summed(time, samples) for time, samples in at.items()]


def batches(served: Served, ref: str, most: int) -> dict[str, list[dict[str, Any]]]:
    """Return the last batches of a streamlet by query, oldest first, also the batches of earlier runs.

    Arguments:
        most: the largest number of batches of a query.
    """
    return {
        query: [
            {"time": batch.time, "number": batch.number, "seconds": batch.seconds, "phases": dict(batch.phases)}
            for batch in own
        ]
        for query, own in read_batches(served.state, ref, most).items()
    }


def _summed(time: float, samples: Sequence[Sample]) -> dict[str, Any]:
    def most(name: str) -> float | None:
        return max((value for sample in samples if (value := getattr(sample, name)) is not None), default=None)

    def total(name: str) -> float | None:
        values = [value for sample in samples if (value := getattr(sample, name)) is not None]
        return sum(values) if values else None

    return {
        "time": time, "rate_in": total("rate_in"), "rate_out": total("rate_out"), "backlog": total("backlog"),
        "busy": most("busy"), "watermark_delay": most("watermark_delay"), "state_rows": total("state_rows"),
        "batch_seconds": most("batch_seconds"),
    }  # fmt: skip


def log_of(served: Served, ref: str) -> dict[str, Any]:
    """Return the last records about a streamlet in the log of the runner: events and failures in full.

    Raises:
        OSError: the log cannot be read.
    """
    log = _log_files(served).get("run.log")
    return {"records": records_of(ref, log, _TAIL) if log is not None else []}


def logs(served: Served) -> list[dict[str, Any]]:
    """Return the log files of an application, with their sizes in bytes."""
    return [{"name": name, "bytes": file.stat().st_size} for name, file in sorted(_log_files(served).items())]


def log(served: Served, name: str) -> dict[str, Any] | None:
    """Return the end of a log file; None if there is none with this name."""
    file = _log_files(served).get(name)
    if file is None:
        return None
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - _TAIL))
        text = stream.read().decode("utf-8", errors="replace")
    return {"name": name, "bytes": size, "text": text if size <= _TAIL else text.partition("\n")[2]}


def _log_files(served: Served) -> dict[str, Path]:
    """Return the log files by their names: a name that is asked for is looked up here, and never becomes a path."""
    logs = served.state.logs
    files = [file for file in logs.rglob("*.log") if file.is_file() and not file.is_symlink()]
    return {file.relative_to(logs).as_posix(): file for file in files}
