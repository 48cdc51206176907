"""`flow topics`: what is in an application's topics, and dropping what is no longer wanted; without Spark."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.following import fail
from cli.groups import ListedGroup
from cli.output.formats import format_option
from cli.output.quantities import count, moment, size
from cli.state import named_topic, path_argument, state_directory, state_options, topic_folders

if TYPE_CHECKING:
    from collections.abc import Callable

    from blueprint.plan import InletPlan
    from streamlets.channels.base import Dropped
    from streamlets.channels.delta import DeltaTopic
    from streamlets.channels.delta.inspection import TopicSummary
    from streamlets.runner.state_directory.directory import StateDirectory


@click.group(cls=ListedGroup)
def topics() -> None:
    """List an application's topics, and drop records of one."""


@topics.command("list", short_help="List them: records, size, last commit, who wrote them.")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """List an application's topics: records, size, last commit and who wrote them.

    PATH is the application's blueprint or folder (left out: this folder). It may be running.
    """
    from streamlets.channels.delta.inspection import summary

    found = {
        name: [summary(folder) for folder in folders]
        for name, folders in topic_folders(path, state_dir, application).items()
    }
    if form == "json":
        import json

        click.echo(
            json.dumps({name: [asdict(each) for each in each_app] for name, each_app in found.items()}, indent=2)
        )
        return
    for name, summaries in found.items():
        _print_table(name, summaries)


@topics.command(short_help="Drop records that all readers have committed.")
@click.argument("topic")
@path_argument
@state_options
@click.option("--older-than", metavar="AGE", help="Records that came longer ago, such as `7 days`.")
@click.option("--schema", metavar="FINGERPRINT", help="Records that were written with this schema, as `list` shows it.")
@click.option("--all", "everything", is_flag=True, help="All records.")
@click.option("--force", is_flag=True, help="Also what a reader has not committed: it is told what it missed.")
@click.option("--dry-run", is_flag=True, help="Only say what would be dropped.")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@format_option()
def purge(
    topic: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    older_than: str | None,
    schema: str | None,
    everything: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
    form: str,
) -> None:
    """Drop records of TOPIC, oldest first, by whole files: `--older-than AGE`, `--schema FINGERPRINT` or both, or
    `--all`.

    What a reader has not committed stays, unless it is forced. Readers are the checkpoints of the application and the
    consumers that its blueprint names. The application may be running; when it is not, the space is given back at
    once, else within two hours.

    The exit code is 1 when readers held records back.
    """
    from streamlets.runner.checkpoints.readers import readers_below

    if (older_than is None and schema is None) is not everything:
        raise click.UsageError("choose the records: `--older-than AGE`, `--schema FINGERPRINT`, both, or `--all`")
    before = _before(older_than)
    state = state_directory(path, state_dir, application)
    resource = named_topic(topic, state)
    _make_sure_of_schema(schema, state.topics / resource.plan.name)
    readers = readers_below(resource, state.checkpoints, _consumers(path, topic))
    planned = resource.purge(readers, before=before, schema=schema, force=force, dry=True)
    if dry_run or not planned.records:
        _report(topic, planned, form, done=not dry_run)
        raise SystemExit(1 if planned.held else 0)
    _confirm(topic, planned, yes)
    dropped = _carry_out(resource, state, lambda: resource.purge(readers, before=before, schema=schema, force=force))
    _report(topic, dropped, form, done=True)
    raise SystemExit(1 if dropped.held else 0)


def _make_sure_of_schema(fingerprint: str | None, topic: Path) -> None:
    """Make sure that a topic has records of a schema.

    Raises:
        click.UsageError: it has none.
    """
    from streamlets.channels.delta.inspection import contracts

    known = [contract.fingerprint for contract in contracts(topic)]
    if fingerprint is not None and fingerprint not in known:
        there = f"its schemas are {', '.join(known)}" if known else "it has no records"
        raise click.UsageError(f"`{topic.name}` has no records of the schema `{fingerprint}`: {there}")


def _before(older_than: str | None) -> float | None:
    from blueprint.quantities import QuantityError, duration

    if older_than is None:
        return None
    try:
        return time.time() - duration(older_than).seconds
    except QuantityError as error:
        raise click.UsageError(f"--older-than: {error}") from None


def _consumers(path: Path, topic: str) -> tuple[InletPlan, ...]:
    """The inlets that the blueprint joins to a topic, by the topic's name; none when there is no valid blueprint."""
    from cli.application import Application, blueprint_at

    plan = Application(blueprint_at(path), (), ()).verify().plan
    ids = [each.id for each in plan.topics if each.name == topic] if plan is not None else []
    return tuple(inlet for id in ids for inlet in plan.inlets_of(id)) if plan is not None else ()


def _carry_out(resource: DeltaTopic, state: StateDirectory, drop: Callable[[], Dropped]) -> Dropped:
    """Drop, and delete the files when nobody can be reading them, that is, while no run owns the folder."""
    from streamlets.channels.base import TopicLostError
    from streamlets.runner.state_directory.directory import StateError

    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(state.locked())
            except StateError:  # it runs: the runner deletes them
                return drop()
            dropped = drop()
            resource.sweep()
            return dropped
    except (OSError, TopicLostError) as error:
        fail(f"the topic cannot be purged: {error}")


def _confirm(topic: str, planned: Dropped, yes: bool) -> None:
    """Say what is lost, and ask.

    Raises:
        click.UsageError: nobody can be asked.
    """
    if yes:
        return
    click.echo(f"{topic}: drops {count(planned.records, 'record')} ({size(planned.bytes)})", err=True)
    for missed in planned.missed:
        click.echo(f"  {missed.reader} has not committed {missed.records:,} of them", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("nothing has been changed: add --yes to purge")
    click.confirm("Purge?", abort=True, err=True)


def _report(topic: str, dropped: Dropped, form: str, *, done: bool) -> None:
    if form == "json":
        import json

        click.echo(json.dumps({"topic": topic, "done": done, **asdict(dropped)}, indent=2))
        return
    what = "dropped" if done else "would drop"
    click.echo(f"{topic}: {what} {count(dropped.records, 'record')} ({size(dropped.bytes)})")
    for reader, records in dropped.held.items():
        click.echo(f"  kept: {reader} has not committed {records:,} of those that were to go")
    if dropped.held:
        click.echo("  --force drops them all the same; `flow checkpoints reset` forgets a reader that is gone")
    for missed in dropped.missed:
        verb = "missed" if done else "would miss"
        click.echo(f"  {missed.reader} {verb} {count(missed.records, 'record')}, from {missed.first} to {missed.last}")


def _print_table(application: str, summaries: list[TopicSummary]) -> None:
    from cli.output.tables import print_table

    if not summaries:
        click.echo(f"{application}: no topics yet")
        return
    rows = []
    for each in summaries:
        writers = ", ".join(f"{writer.record} {writer.fingerprint}" for writer in each.writers)
        rows.append((each.name, f"{each.records:,}", size(each.bytes), moment(each.last_commit), writers or "-"))
    print_table((application, "records", "size", "last commit (UTC)", "written as"), rows, right=("records", "size"))
