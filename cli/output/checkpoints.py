"""Checkpoints as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from blueprint.comparison.stateful_operators import stateful_operator
from blueprint.hocon import shown_name
from blueprint.wording import counted
from cli.output.quantities import size, timestamp
from cli.output.tables import print_table
from streamlets.channels.base import TopicResource
from streamlets.runner.checkpoints.checkpoint import Batch, Checkpoint
from streamlets.runner.checkpoints.positions import source_positions
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import read_status
from streamlets.runner.state_directory.directory import StateDirectory


def print_list(state: StateDirectory, checkpoints: Sequence[Checkpoint], topics: Sequence[TopicResource]) -> None:
    """Print a line for each checkpoint, and any damage.

    Arguments:
        state: the state directory of the application.
        checkpoints: its checkpoints.
        topics: its topics.
    """
    if not checkpoints:
        click.echo(f"{state.application}: no checkpoints yet")
        return
    rows = []
    for checkpoint in checkpoints:
        backlogs = [
            position.backlog for position in source_positions(checkpoint, topics) if position.backlog is not None
        ]
        state_rows = _state_rows(checkpoint, state)
        rows.append(
            (
                checkpoint.name,
                f"{checkpoint.committed.number:,}" if checkpoint.committed else "-",
                timestamp(checkpoint.latest.time if checkpoint.latest else None),
                f"{sum(backlogs):,}" if backlogs else "-",
                timestamp(checkpoint.watermark),
                "-" if not checkpoint.operators else "?" if state_rows is None else f"{state_rows:,}",
                size(checkpoint.bytes),
            )
        )
    columns = (state.application, "batch", "planned (UTC)", "backlog", "watermark (UTC)", "state rows", "size")
    print_table(columns, rows, right=("batch", "backlog", "state rows", "size"))
    for checkpoint in checkpoints:
        for damage in checkpoint.damage:
            click.echo(f"{checkpoint.name}: {damage}")


def print_checkpoint(state: StateDirectory, checkpoint: Checkpoint, topics: Sequence[TopicResource]) -> None:
    """Print the details of a checkpoint; see `print_list` for the arguments."""
    click.echo(checkpoint.name)
    for key, text in _details(checkpoint):
        click.echo(f"  {key:<11} {text}")
    for damage in checkpoint.damage:
        click.echo(f"  {'damage':<11} {damage}")
    positions = source_positions(checkpoint, topics)
    if positions:
        click.echo()
        rows = [
            (position.source, position.topic or "-", position.shown or "nothing yet", _number(position.backlog))
            for position in positions
        ]
        print_table(("source", "topic", "committed up to", "backlog"), rows, right=("backlog",))
    if checkpoint.operators:
        click.echo()
        print_table(
            ("state", "batches", "partitions", "size"),
            [
                (
                    stateful_operator(operator.name).label,
                    _number(operator.version),
                    f"{operator.partitions:,}",
                    size(operator.bytes),
                )
                for operator in checkpoint.operators
            ],
            right=("batches", "partitions", "size"),
        )
        state_rows = _state_rows(checkpoint, state)
        if state_rows is not None:
            click.echo(f"\n{counted(state_rows, 'state row')} after the last batch of the last run")


def as_data(checkpoint: Checkpoint, state: StateDirectory, topics: Sequence[TopicResource]) -> dict[str, object]:
    """Return a checkpoint for `--format json`: times in seconds since the epoch, sizes in bytes; see `print_list`."""
    return {
        "streamlet": checkpoint.streamlet,
        "query": checkpoint.query,
        "directory": str(checkpoint.directory),
        "id": checkpoint.id,
        "committed": _batch(checkpoint.committed),
        "planned": _batch(checkpoint.planned),
        "watermark": checkpoint.watermark,
        "sources": [
            {
                "name": position.source,
                "topic": position.topic,
                "position": json.loads(position.position) if position.position else None,
                "backlog": position.backlog,
            }
            for position in source_positions(checkpoint, topics)
        ],
        "state": [
            {
                "operator": stateful_operator(operator.name).label,
                "number": operator.number,
                "version": operator.version,
                "partitions": operator.partitions,
                "bytes": operator.bytes,
            }
            for operator in checkpoint.operators
        ],
        "state_rows": _state_rows(checkpoint, state),
        "settings": dict(checkpoint.latest.settings) if checkpoint.latest else {},
        "bytes": checkpoint.bytes,
        "damage": list(checkpoint.damage),
    }


def _details(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """Yield names and values for the lines above the tables."""
    yield "directory", f"{shown_name(checkpoint.directory)} ({size(checkpoint.bytes)})"
    yield "query id", checkpoint.id or "none yet"
    done = checkpoint.committed
    yield "committed", f"batch {done.number:,}, planned {timestamp(done.time)} UTC" if done else "nothing yet"
    if checkpoint.planned is not None:
        planned = f"batch {checkpoint.planned.number:,}, planned {timestamp(checkpoint.planned.time)} UTC"
        yield "in progress", f"{planned}; replayed at the next start"
    if checkpoint.watermark is not None:
        yield "watermark", f"{timestamp(checkpoint.watermark)} UTC: later windows are open"
    partitions = checkpoint.latest.settings.get("spark.sql.shuffle.partitions") if checkpoint.latest else None
    if checkpoint.operators and partitions:
        yield "partitions", f"{partitions} for shuffles, fixed until the checkpoint is reset"


def _batch(batch: Batch | None) -> dict[str, object] | None:
    return {"number": batch.number, "time": batch.time} if batch is not None else None


def _state_rows(checkpoint: Checkpoint, state: StateDirectory) -> int | None:
    """Return the number of state rows after the last batch from the status of the last run; None if it is unknown."""
    written = read_status(state.status_file)
    unit = written.status.units.get(UnitId(checkpoint.streamlet, checkpoint.query)) if written is not None else None
    return unit.state_rows if unit is not None and unit.batch is not None else None


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
