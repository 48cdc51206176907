"""`flow tasks`: list, show and retry the tasks of batch sources, without Spark."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blueprint.wording import counted, span
from cli.groups import ListedGroup, imports_modules
from cli.options import format_option, path_argument
from cli.output.quantities import timestamp
from cli.runs.sources import counts_of, data_of
from cli.state import own_state_directory, state_directories, state_directory, state_options, topics_of

if TYPE_CHECKING:
    from streamlets.ingress.batch_sources.task_states import SourceTasks, TaskEntry
    from streamlets.runner.state_directory.directory import StateDirectory

_NAME = click.argument("name", metavar="STREAMLET")
_NUMBERS = click.option("--task", "numbers", type=click.IntRange(min=0), multiple=True, metavar="NUMBER",
                        help="Only the task with this number; may be repeated.")  # fmt: skip
_REASON = click.option("--reason", metavar="TEXT", help="Only failed tasks whose error contains TEXT.")


@click.group(cls=ListedGroup)
def tasks() -> None:
    """List, show and retry the tasks of batch sources.

    A task is stored when it is discovered, and waits until the batch that reads it is committed. If all attempts to
    read it fail, it is set aside. These commands also work while the application runs.
    """


@imports_modules("with servers")
@tasks.command("list", short_help="Count the tasks of each batch source (the default).")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Count the tasks of each batch source: discovered, read, waiting and failed.

    `failed` does not include tasks that were retried. `repeated` and `dropped` are of the last run: tasks that were
    dropped because their key was known, and triggers that were dropped because a discovery was running. PATH is the
    application's blueprint or directory (default: the working directory).
    """
    states = state_directories(path, state_dir, application)
    counts = {state.application: [counts_of(source) for source in _sources(state, path)] for state in states}
    if form == "json":
        click.echo(json.dumps(counts, indent=2))
        return
    from cli.output.tables import print_table

    columns = ("discovered", "read", "waiting", "oldest", "failed", "repeated", "dropped")
    for name, sources in counts.items():
        if not sources:
            click.echo(f"{name} has no batch source that has run")
            continue
        rows = [
            (
                str(source["streamlet"]), *(f"{source[column]:,}" for column in columns[:3]),
                "-" if source["oldest_age"] is None else span(source["oldest_age"]),
                *(f"{source[column]:,}" for column in columns[4:]), _discovery(source),
            )
            for source in sources
        ]  # fmt: skip
        print_table((name, *columns, "discovery"), rows, right=columns)


@imports_modules("with servers")
@tasks.command(short_help="Show tasks that wait or have failed, and why.")
@_NAME
@path_argument
@state_options
@_NUMBERS
@_REASON
@click.option("-n", "limit", type=click.IntRange(min=1), default=10, show_default=True, help="Number of tasks to show.")
@click.option("--all", "read_too", is_flag=True, help="Include tasks that were read or retried.")
@format_option(data="jsonl", help="The output format; jsonl is one JSON object per line.")
def show(
    name: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    numbers: tuple[int, ...],
    reason: str | None,
    limit: int,
    read_too: bool,
    form: str,
) -> None:
    """Show the last tasks of a batch source that wait or have failed.

    With --task, the tasks are shown whatever their state, failed ones with the frames of their last error. PATH is the
    application's blueprint or directory (default: the working directory).
    """
    source = _source(name, path, state_directory(path, state_dir, application))
    chosen = (entry for entry in source.entries() if _is_chosen(entry, numbers, reason, read_too=read_too))
    last = deque(chosen, max(limit, len(numbers)))
    if numbers:
        _require(set(numbers), (entry.task.number for entry in last), f"`{name}` has no task")
    for entry in last:
        if form == "jsonl":
            click.echo(json.dumps(data_of(entry), ensure_ascii=False))
        else:
            _print(entry, full=bool(numbers))
    if not last and form == "text":
        click.echo(f"{name}: no {'tasks' if read_too else 'tasks that wait or have failed'}")


@imports_modules("with servers")
@tasks.command(short_help="Have failed tasks read again.")
@_NAME
@path_argument
@state_options
@_NUMBERS
@_REASON
@click.option("--all", "every", is_flag=True, help="All failed tasks.")
@format_option()
def retry(
    name: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    numbers: tuple[int, ...],
    reason: str | None,
    every: bool,
    form: str,
) -> None:
    """Have failed tasks of a batch source read again.

    Choose them by --task, --reason or --all. The application reads them as new tasks, also if it does not run at
    present. A failed task is retried once; if the new task fails, too, that one can be retried. PATH is the
    application's blueprint or directory (default: the working directory).
    """
    if not numbers and reason is None and not every:
        raise click.UsageError("choose the tasks with --task NUMBER, --reason TEXT or --all")
    state = own_state_directory(path, state_dir, application)
    source = _source(name, path, state)
    if numbers:
        _require(set(numbers), source.failed, f"`{name}` has no failed task")
    failed = [number for number in source.failed if not numbers or number in numbers]
    chosen = {number for number in failed if reason is None or reason in source.failures[number].error}
    requested = source.retry(chosen)
    if form == "json":
        click.echo(json.dumps({"retried": requested, "tasks": sorted(chosen)}))
        return
    if not requested:
        click.echo(f"{name}: no failed tasks to retry")
        return
    when = "" if state.owner() is not None else " when the application runs"
    click.echo(f"{name}: {counted(requested, 'task')} will be read again{when}")


def _sources(state: StateDirectory, path: Path) -> list[SourceTasks]:
    from streamlets.ingress.batch_sources.task_states import SourceTasks, sources_of

    refs = sources_of(state)
    topics = topics_of(state, path) if refs else ()
    return [SourceTasks(state, ref, topics) for ref in refs]


def _source(name: str, path: Path, state: StateDirectory) -> SourceTasks:
    """Return a batch source that has run.

    Raises:
        click.UsageError: there is none with this name.
    """
    from blueprint.spelling import suggestion

    sources = {source.streamlet: source for source in _sources(state, path)}
    if name not in sources:
        hint = suggestion(name, sources) if sources else f"{state.application} has none that has run"
        raise click.UsageError(f"there is no batch source `{name}`; {hint}")
    return sources[name]


def _require(wanted: set[int], found: Iterable[int], message: str) -> None:
    """Check that all numbers were found.

    Raises:
        click.UsageError: one was not.
    """
    for number in sorted(wanted - set(found)):
        raise click.UsageError(f"{message} {number}")


def _is_chosen(entry: TaskEntry, numbers: tuple[int, ...], reason: str | None, *, read_too: bool) -> bool:
    if numbers:
        return entry.task.number in numbers
    if reason is not None and (entry.failure is None or reason not in entry.failure.error):
        return False
    return read_too or entry.state in ("waiting", "failed")


def _discovery(source: dict[str, Any]) -> str:
    """Return how the discovery of a source is, for people."""
    if source["failure"]:
        return f"failed: {source['failure']}"
    if source["running"] is not None:
        return "running, or interrupted"
    return f"{counted(source['discoveries'], 'discovery', 'discoveries')} in the last run"


def _print(entry: TaskEntry, *, full: bool) -> None:
    task, failure = entry.task, entry.failure
    repeats = "" if task.retry_of is None else f", a retry of {task.retry_of}"
    discovered = f"discovered {timestamp(task.time)} UTC"
    if failure is None:
        click.echo(f"task {task.number}: {entry.state}, {discovered}{repeats}")
    else:
        attempts = f"failed {timestamp(failure.time)} UTC after {counted(failure.attempts, 'attempt')}"
        retried = ", retried" if entry.state == "retried" else ""
        click.echo(f"task {task.number}: {attempts}{retried}, {discovered}{repeats}")
    click.echo(f"  {task.shown}")
    if failure is not None:
        for line in failure.error.rstrip().splitlines() if full else [failure.reason]:
            click.echo(f"  {line}")
