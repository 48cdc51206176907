"""`flow topics`: list the topics of an application, and delete records, without Spark."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import counted
from cli.commands.topics_acls import acls
from cli.commands.topics_apply import apply
from cli.commands.topics_copy import copy
from cli.groups import ListedGroup, imports_modules
from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.output.quantities import size, timestamp
from cli.state import (
    named_topic,
    own_state_directory,
    state_directories,
    state_options,
    topics_of,
    unreadable_topics,
    warn_of_unreadable_topics,
    with_running_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from blueprint.plan import InletPlan
    from streamlets.channels.base import Dropped, TopicResource, TopicSummary
    from streamlets.runner.state_directory.directory import StateDirectory


@click.group(cls=ListedGroup)
def topics() -> None:
    """List the topics of an application, create, alter and copy them, and delete records."""


topics.add_command(acls)
topics.add_command(apply)
topics.add_command(copy)


@imports_modules("with servers")
@topics.command("list", short_help="List the topics (the default).")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """List the topics of an application with their records, size, last commit, and the schemas of their records.

    PATH is the application's blueprint or directory (default: the working directory). The application may be running.
    Topics on servers are compared with the blueprint.
    """
    from streamlets.runner.topics import differences_of

    states = state_directories(path, state_dir, application)
    topics = {state: topics_of(state, path) for state in states}
    warn_of_unreadable_topics(states)
    if form == "json":
        import json

        entries = {
            state.application: [
                asdict(topic.summary()) | _differences(topic) | _readers(topic, state) | _fused(topic, state)
                for topic in resources
            ]
            for state, resources in topics.items()
        }
        click.echo(json.dumps(entries, indent=2))
        return
    for state, resources in topics.items():
        if resources or not unreadable_topics(state):
            fused = [topic.plan.name for topic in resources if _fused(topic, state)["fused"]]
            _print_table(state.application, [topic.summary() for topic in resources], fused)
        for difference in differences_of(resources):
            click.echo(difference.line)


@imports_modules()
@topics.command(short_help="Delete records that all readers have committed.")
@click.argument("topic")
@path_argument
@state_options
@click.option("--older-than", metavar="AGE", help="Delete records that were written longer ago, for example `7 days`.")
@click.option("--schema", metavar="FINGERPRINT", help="Delete records with this schema, as shown by `flow topics`.")
@click.option("--all", "everything", is_flag=True, help="Delete all records.")
@click.option("--force", is_flag=True, help="Also delete records that readers have not committed.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
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
    """Delete records of TOPIC that all readers have committed.

    Choose the records with --older-than, --schema or both, or with --all. Records are deleted by whole files, oldest
    first. Records that a reader has not committed are kept unless --force is given; these readers then report the
    loss. The readers are the application's checkpoints and the consumers in its blueprint. Disk space is freed
    immediately, or within two hours if the application is running.

    PATH is the application's blueprint or directory (default: the working directory). The exit code is 1 if records
    were kept because of a reader.
    """
    from streamlets.runner.checkpoints.readers import readers_below

    if (older_than is None and schema is None) is not everything:
        raise click.UsageError(
            "choose records with `--older-than AGE`, `--schema FINGERPRINT` or both, or with `--all`"
        )
    before = _before(older_than)
    state = own_state_directory(path, state_dir, application)
    resource = named_topic(topic, state, path)
    _check_schema(schema, resource)
    readers = readers_below(resource, state.checkpoints, _consumers(path, topic, state))
    try:
        planned = resource.purge(readers, before=before, schema=schema, force=force, dry=True)
    except ValueError as error:  # the channel cannot delete them
        fail(f"the topic cannot be purged: {error}")
    if dry_run or not planned.records:
        _report(topic, planned, form, done=not dry_run)
        raise SystemExit(1 if planned.held else 0)
    _confirm(topic, planned, yes)
    dropped = _delete(resource, state, lambda: resource.purge(readers, before=before, schema=schema, force=force))
    _report(topic, dropped, form, done=True)
    raise SystemExit(1 if dropped.held else 0)


def _check_schema(fingerprint: str | None, topic: TopicResource) -> None:
    """Check that a topic has records of a schema; None allows any.

    Raises:
        click.UsageError: it has no such records.
    """
    known = [contract.fingerprint for contract in topic.contracts()]
    if fingerprint is not None and fingerprint not in known:
        hint = f"its schemas are {', '.join(known)}" if known else "it has no records"
        raise click.UsageError(f"`{topic.plan.name}` has no records of the schema `{fingerprint}`: {hint}")


def _before(older_than: str | None) -> float | None:
    """Return the time of an age, in seconds since the epoch.

    Raises:
        click.UsageError: the age is not a duration.
    """
    from blueprint.quantities import QuantityError, duration

    if older_than is None:
        return None
    try:
        return time.time() - duration(older_than).seconds
    except QuantityError as error:
        raise click.UsageError(f"--older-than: {error}") from None


def _consumers(path: Path, topic: str, state: StateDirectory) -> tuple[InletPlan, ...]:
    """Return the inlets that the blueprint connects to a topic; none without a valid blueprint."""
    from cli.application import Application, blueprint_at

    plan = with_running_settings(Application(blueprint_at(path), (), ()), state).verify().plan
    ids = [entry.id for entry in plan.topics if entry.name == topic] if plan is not None else []
    return tuple(inlet for id in ids for inlet in plan.inlets_of(id)) if plan is not None else ()


def _delete(resource: TopicResource, state: StateDirectory, purge: Callable[[], Dropped]) -> Dropped:
    """Delete records; their files, too, if no run can be reading them, that is, if the application is not running."""
    from streamlets.channels.base import TopicLostError
    from streamlets.runner.state_directory.directory import StateError

    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(state.locked())
            except StateError:  # The application is running: its runner deletes the files.
                return purge()
            dropped = purge()
            resource.sweep()
            return dropped
    except (OSError, TopicLostError) as error:
        fail(f"the topic cannot be purged: {error}")


def _confirm(topic: str, planned: Dropped, yes: bool) -> None:
    """Print what will be lost, and ask for confirmation.

    Raises:
        click.UsageError: the standard input is not a terminal.
    """
    if yes:
        return
    click.echo(f"{topic}: deletes {counted(planned.records, 'record')} ({size(planned.bytes)})", err=True)
    for missed in planned.missed:
        click.echo(f"  {missed.reader} has not committed {missed.records:,} of them", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("nothing was deleted; add --yes to purge without confirmation")
    click.confirm("Purge?", abort=True, err=True)


def _report(topic: str, dropped: Dropped, form: str, *, done: bool) -> None:
    if form == "json":
        import json

        click.echo(json.dumps({"topic": topic, "done": done, **asdict(dropped)}, indent=2))
        return
    verb = "deleted" if done else "would delete"
    click.echo(f"{topic}: {verb} {counted(dropped.records, 'record')} ({size(dropped.bytes)})")
    for reader, records in dropped.held.items():
        click.echo(f"  kept: {reader} has not committed {counted(records, 'record')}")
    if dropped.held:
        click.echo("  --force deletes them anyway; `flow checkpoints reset` removes a reader that no longer exists")
    for missed in dropped.missed:
        verb = "missed" if done else "would miss"
        click.echo(
            f"  {missed.reader} {verb} {counted(missed.records, 'record')}, from {missed.first} to {missed.last}"
        )


def _differences(topic: TopicResource) -> dict[str, object]:
    """Return the differences between a topic and the blueprint, as data."""
    return {"differences": [asdict(difference) for difference in topic.differences()]}


def _readers(topic: TopicResource, state: StateDirectory) -> dict[str, object]:
    """Return the readers of a topic and the records that they have not committed, as data."""
    from streamlets.runner.checkpoints.checkpoint import checkpoints_in
    from streamlets.runner.checkpoints.readers import readers_of

    return {
        "readers": [
            {
                "name": reader.name,
                "lag": topic.lag(reader.committed, reader=reader.name).records,
                "lag_by_partition": dict(topic.lag_by_partition(reader.committed)),
            }
            for reader in readers_of(topic, checkpoints_in(state.checkpoints), ())
        ]
    }


def _fused(topic: TopicResource, state: StateDirectory) -> dict[str, object]:
    """Return the query that the records of a topic pass without being stored, as data; null for a stored topic."""
    from streamlets.runner.checkpoints.fused_queries import fused_topics

    return {"fused": dict(fused_topics(state.checkpoints)).get(topic.plan.name)}


def _print_table(application: str, summaries: list[TopicSummary], fused: Container[str]) -> None:
    from cli.output.tables import print_table

    if not summaries:
        click.echo(f"{application}: no topics yet")
        return
    rows = []
    for topic in summaries:
        schemas = ", ".join(f"{writer.record} {writer.fingerprint}" for writer in topic.writers)
        name = f"{topic.name} (fused)" if topic.name in fused else topic.name
        rows.append((name, f"{topic.records:,}", size(topic.bytes), timestamp(topic.last_commit), schemas or "-"))
    print_table((application, "records", "size", "last commit (UTC)", "schema"), rows, right=("records", "size"))
