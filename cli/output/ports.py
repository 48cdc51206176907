"""The ports of a run as a table and as JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from blueprint.wording import span
from cli.output.tables import print_table

if TYPE_CHECKING:
    from streamlets.channels.base import TopicResource
    from streamlets.runner.events.status import RunStatus
    from streamlets.runner.ports import PortStatus
    from streamlets.runner.state_directory.directory import StateDirectory

_COLUMNS = (
    "port", "topic", "state", "records", "records/s", "s/batch", "ms/record", "records/batch", "last", "backlog",
    "acknowledged",
)  # fmt: skip
_LEFT = ("port", "topic", "state", "acknowledged")


def ports_in(
    state: StateDirectory, status: RunStatus, topics: Iterable[TopicResource], *, live: bool, now: float
) -> tuple[PortStatus, ...]:
    """Return the ports of the last run of an application.

    Arguments:
        state: its state directory.
        status: the status that the run has written.
        topics: its topics.
        live: whether it is running.
        now: the current time in seconds since the epoch.
    """
    from streamlets.runner.checkpoints.checkpoint import checkpoints_in
    from streamlets.runner.deployment import last_run
    from streamlets.runner.ports import acknowledged_positions, ports_of

    application = last_run(state)
    if application is None:
        return ()
    acknowledged = acknowledged_positions(application, checkpoints_in(state.checkpoints), topics)
    return ports_of(status, application, acknowledged, now, live=live)


def print_ports(ports: Sequence[PortStatus], now: float, *, known: bool) -> None:
    """Print a line for each port; columns without content are omitted.

    Arguments:
        ports: the ports.
        now: the time of the status in seconds since the epoch.
        known: whether the description of the application is known, which has its ports.
    """
    if not ports:
        unknown = "the ports are not known any more: the resources of the last run were deleted"
        click.echo("no streamlet has an inlet or an outlet" if known else unknown)
        return
    rows = [_cells(port, now) for port in ports]
    shown = [index for index, name in enumerate(_COLUMNS) if name in _LEFT[:3] or any(row[index] for row in rows)]
    columns = [_COLUMNS[index] for index in shown]
    right = [column for column in columns if column not in _LEFT]
    print_table(columns, [[row[index] for index in shown] for row in rows], right=right)


def as_data(ports: Sequence[PortStatus]) -> list[dict[str, object]]:
    """Return ports for `--format json`, with durations in seconds."""
    return [
        asdict(port)
        | {
            "rate": round(port.rate, 1),
            "seconds_per_batch": port.seconds_per_batch,
            "seconds_per_record": port.seconds_per_record,
            "records_per_batch": port.records_per_batch,
        }
        for port in ports
    ]


def _cells(port: PortStatus, now: float) -> tuple[str, ...]:
    arrow = "<-" if port.direction == "inlet" else "->"
    return (
        f"{port.streamlet}.{port.port}",
        f"{arrow} {port.topic}",
        port.state,
        f"{port.records:,}",
        f"{port.rate:,.1f}" if port.rate else "",
        _number(port.seconds_per_batch, "{:,.2f}"),
        _number(None if port.seconds_per_record is None else port.seconds_per_record * 1000, "{:,.2f}"),
        _number(port.records_per_batch, "{:,.0f}"),
        "" if port.active is None else f"{span(now - port.active)} ago",
        f"{port.backlog:,}" if port.backlog else "",
        "; ".join(f"{reader} {position}" for reader, position in port.acknowledged.items()),
    )


def _number(value: float | None, form: str) -> str:
    return form.format(value) if value else ""
