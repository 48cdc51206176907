"""`flow backfill`: run one streamlet over a range of its topics again, beside the application or without it."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from blueprint.wording import counted
from cli.application import Application, application_arguments, overriding
from cli.application import application as application_of
from cli.groups import imports_modules
from cli.options import DirectoryType, DurationType, master_option
from cli.output.differences import as_data, print_difference
from cli.output.errors import fail
from cli.records import clearing_up, reading_topics
from cli.runs.backfill_options import BoundType, NameType
from cli.state import require_own, with_running_settings

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from streamlets.backfills.model import Backfill, Bound, Request
    from streamlets.datasets.difference import Difference
    from streamlets.runner.events.view import View
    from streamlets.runner.state_directory.directory import StateDirectory

_DIGITS = 6
"""The number of digits of the hash in a name that is not given."""


@imports_modules()
@click.command(short_help="Run a streamlet over a range of its topics again.")
@click.argument("streamlet")
@application_arguments
@click.option(
    "--from", "begin", type=BoundType(), metavar="TIME|POSITION",
    help="Begin with the records that were committed at this time, such as 2026-01-31T12:00 (UTC) or an age: 2h; or at "
    "a position of `flow checkpoints show` (default: the oldest record).",
)  # fmt: skip
@click.option(
    "--to", "end", type=BoundType(), metavar="TIME|POSITION",
    help="End before this time or position (default: the end of the topics when the backfill begins).",
)  # fmt: skip
@click.option(
    "--into", type=DirectoryType(file_okay=False, path_type=Path), metavar="DIRECTORY",
    help="Write the results as Parquet files to this directory, one for each topic that the streamlet writes.",
)  # fmt: skip
@click.option("--into-topic", "topic", metavar="TOPIC", help="Write the results to this new topic of the application.")
@click.option(
    "--warm-up", type=DurationType(), metavar="DURATION",
    help="How long before the range to begin, for the state of windows, joins and deduplications; their results are "
    "omitted (default: as long as the state needs).",
)  # fmt: skip
@click.option(
    "--compare", is_flag=True,
    help="Compare the results with what the application has written in this time, as `flow diff` does.",
)  # fmt: skip
@click.option("--by", metavar="COLUMN,...", help="With --compare: the columns that identify a record.")
@click.option("--ignore", metavar="COLUMN,...", help="With --compare: columns whose values do not matter.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=10, show_default=True,
    help="With --compare: the number of records to show that are not the same.",
)  # fmt: skip
@click.option(
    "--every", type=DurationType(), metavar="DURATION",
    help="Divide the range into slices of this length, such as 1 day, each of which is a backfill with a directory of "
    "its own in --into; without --to, those that are complete now.",
)  # fmt: skip
@click.option(
    "--parallel", type=click.IntRange(min=1), default=1, show_default=True,
    help="With --every: how many slices run at the same time.",
)  # fmt: skip
@click.option(
    "--name", type=NameType(), metavar="NAME",
    help="The name of the backfill, with letters, digits, `-`, `_` and `.` (default: made of the streamlet and the "
    "range).",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Begin again if a backfill of this name was done or interrupted.")
@master_option
@click.option(
    "--state-dir", metavar="DIRECTORY", type=DirectoryType(path_type=Path),
    help="The parent directory of the application's topics and checkpoints (default: .flow next to the blueprint).",
)  # fmt: skip
@click.option(
    "--drain-timeout", type=DurationType(), metavar="DURATION", default="60s", show_default=True,
    help="How long to wait for running batches when stopping; batches that take longer are replayed.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["auto", "table", "lines", "jsonl"]), default="auto",
    show_default=True,
    help="The output format: a live table, one line per event, or one JSON object per event; auto is table on a "
    "terminal, otherwise lines.",
)  # fmt: skip
def backfill(
    streamlet: str,
    arguments: Sequence[str],
    conf: Sequence[str],
    begin: Bound | None,
    end: Bound | None,
    into: Path | None,
    topic: str | None,
    warm_up: float | None,
    compare: bool,
    by: str | None,
    ignore: str | None,
    limit: int,
    every: float | None,
    parallel: int,
    name: str | None,
    again: bool,
    master: str | None,
    state_dir: Path | None,
    drain_timeout: float,
    form: str,
) -> None:
    """Run STREAMLET over a range of the topics that it reads, with state of its own.

    The application may be running; its topics, checkpoints and status are not changed. The range is fixed when the
    backfill begins. After an interruption, the same command continues. A backfill that was done is not repeated,
    unless --again is given.

    With --compare, the results are compared with the records that STREAMLET has written in the range. Without --into
    and --into-topic, they are kept for the next comparison only.

    PATH is a blueprint or its directory (default: the working directory). Without settings, it uses the settings of the
    last run.

    The exit code is 0 if the backfill is done, 1 if it failed or was stopped, its results differ, or a part of the
    range was deleted, and 2 if the blueprint or the arguments are wrong, or the streamlet cannot be backfilled.
    """
    from streamlets.backfills.comparison import require_comparable
    from streamlets.backfills.model import Request
    from streamlets.backfills.results import new_topic
    from streamlets.backfills.store import Store

    plan, state = _application(application_of(arguments, conf), state_dir, master, streamlet)
    if topic is not None:
        with _reported():
            new_topic(state, topic)
    if into is None and topic is None and not compare:
        raise click.UsageError(
            "where should the results go? Add --into DIRECTORY or --into-topic TOPIC, or only --compare them"
        )
    keys, ignored = _columns(by), _columns(ignore)
    if not compare and (keys or ignored):
        raise click.UsageError("--by and --ignore belong to --compare")
    request = Request(
        streamlet=streamlet, begin=begin, end=end, into=str(into.absolute()) if into is not None else "",
        topic=topic or "", warm_up=warm_up,
    )  # fmt: skip
    if compare:
        with _reported():
            require_comparable(plan, Store(state), request, keys, ignored)
    if every is not None:
        _in_slices(state, request, name, every, parallel, again=again, form=form)
    done = _carried_out(plan, state, name or _name(request), request, again=again, master=master,
                        drain_within=drain_timeout, form=form)  # fmt: skip
    if done is None:
        fail("the backfill was stopped", "the same command continues")
    found = _compared(plan, state, done, keys, ignored, limit) if compare else {}
    _report(done, form, found, plan.streamlet(streamlet).dead_letters, Store(state).home(done.name))
    raise SystemExit(0 if all(each.same for each in found.values()) else 1)


def _in_slices(
    state: StateDirectory, request: Request, name: str | None, every: float, parallel: int, *, again: bool, form: str
) -> NoReturn:
    """Carry out a backfill for each slice of the range, and exit.

    Raises:
        click.UsageError: the range cannot be divided.
    """
    from cli.runs.backfill_slices import Slice, Slices, slices
    from streamlets.backfills.store import Store

    begin, end = request.begin, request.end
    if not request.into or request.topic:
        raise click.UsageError("--every needs --into DIRECTORY: each slice has a directory of its own in it")
    if begin is None or not begin.is_fixed or (end is not None and not end.is_fixed):
        raise click.UsageError("--every needs a --from that is a time, such as 2026-01-31, not an age or a position")
    assert begin.time is not None
    planned = slices(begin.time, end.time if end is not None else None, every, time.time())
    name = name or _name(replace(request, begin=None, end=None))

    def command(of: Slice, full_name: str) -> list[str]:
        first, last = of.bounds
        own = {"begin": first, "end": last, "into": str(Path(request.into) / of.label), "name": full_name,
               "form": "lines", "every": None, "parallel": None}  # fmt: skip
        return ["backfill", *_arguments(click.get_current_context(), own)]

    def say(of: Slice, what: str, known: Backfill | None) -> None:
        results = sum(result.records or 0 for result in known.results.values()) if known is not None else None
        if form == "jsonl":
            data = {"from": of.bounds[0], "to": of.bounds[1], "what": what, "results": results}
            click.echo(json.dumps(data))
        else:
            number = f", {counted(results, 'result')}" if results is not None and what.endswith("done") else ""
            click.echo(f"{of.bounds[0]}: {what}{number}")
        sys.stdout.flush()

    with _reported():
        done = Slices(Store(state), name, command, parallel, say).carry_out(planned, again=again)
    raise SystemExit(0 if done else 1)


def _arguments(context: click.Context, own: Mapping[str, str | None]) -> list[str]:
    """Return the arguments of this call with other values of some options; None omits one."""
    options, positional = [], []
    for parameter in context.command.params:
        assert parameter.name is not None
        given = context.get_parameter_source(parameter.name) is not click.core.ParameterSource.DEFAULT
        value = own.get(parameter.name, context.params[parameter.name] if given else None)
        values = value if isinstance(value, tuple) else () if value is None or value is False else (value,)
        if isinstance(parameter, click.Argument):
            positional += [str(each) for each in values]
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            options += [parameter.opts[0]] * len(values)
        else:
            unit = "s" if isinstance(parameter.type, DurationType) else ""
            options += [text for each in values for text in (parameter.opts[0], f"{each}{unit}")]
    return [*positional, *options]


def _columns(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def _compared(
    plan: ApplicationPlan, state: StateDirectory, done: Backfill, by: Sequence[str], ignored: Sequence[str], limit: int
) -> dict[str, Difference]:
    """Return the differences by topic.

    Raises:
        SystemExit: 1, when records cannot be read; an error has been printed.
    """
    from streamlets.backfills.comparison import compared
    from streamlets.backfills.store import Store
    from streamlets.datasets.formats import FileError

    try:
        with _reported(), clearing_up():
            return compared(plan, Store(state), done, by=by, ignored=ignored, limit=limit)
    except FileError as error:
        fail(str(error))


def _application(
    app: Application, state_dir: Path | None, master: str | None, streamlet: str
) -> tuple[ApplicationPlan, StateDirectory]:
    """Return an application that has run, with its own settings or the settings of its last run.

    Raises:
        click.UsageError: it has not run.
        SystemExit: 2, when it has errors, or its streamlet cannot be backfilled; 1, when another user can change its
            state; an error has been printed.
    """
    from cli.verification.findings import refuse
    from streamlets.backfills.plan import streamlet_of
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory, is_application

    root = state_dir or app.directory / STATE_DIRECTORY
    app = with_running_settings(app, StateDirectory(root, app.name or ""))
    verification = replace(app, state_root=state_dir, options=overriding(master)).verify()
    if verification.plan is None:
        refuse(verification)
    with _reported():
        streamlet_of(verification.plan, streamlet)
    state = StateDirectory(root, verification.plan.name)
    if not is_application(state.directory):
        raise click.UsageError(f"{state.application} has not run yet: {root} has no state of it")
    return verification.plan, require_own(state)


def _name(request: Request) -> str:
    """Return the name of a backfill that has none: the same for the same request."""
    bounds = {"begin": request.begin, "end": request.end}
    texts = {name: bound.text if bound is not None else None for name, bound in bounds.items()}
    text = json.dumps(asdict(request) | texts)
    return f"{request.streamlet}-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def _carried_out(
    plan: ApplicationPlan, state: StateDirectory, name: str, request: Request, *, again: bool, master: str | None,
    drain_within: float, form: str,
) -> Backfill | None:  # fmt: skip
    """Carry a backfill out, and return it; None if it was stopped.

    Raises:
        SystemExit: 1 or 2, when it is not possible or fails; an error has been printed.
    """
    from streamlets.backfills.running import Backfilling
    from streamlets.backfills.store import Store

    carrying = Backfilling(
        plan=plan, store=Store(state), master=master, drain_within=drain_within, views=_views(form), say=_say(form)
    )
    with _reported():
        return carrying.carry_out(name, request, again=again)


@contextmanager
def _reported() -> Iterator[None]:
    """Turn the errors of a backfill into messages.

    Raises:
        SystemExit: 1 or 2, when there is one; it has been printed.
    """
    from streamlets.backfills.model import BackfillError
    from streamlets.runner.state_directory.directory import StateError
    from streamlets.spark.session import SessionError
    from streamlets.storage.damage import DamagedFileError

    try:
        with reading_topics():
            yield
    except BackfillError as error:
        _fail(str(error), error.help, 2 if error.refused else 1)
    except (StateError, SessionError) as error:
        fail(str(error), error.help)
    except DamagedFileError as error:
        fail(str(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        fail(f"the backfill cannot be carried out: {place}{error.strerror or error}", "the same command continues")


def _fail(message: str, help: str, code: int) -> NoReturn:
    try:
        fail(message, help)
    except SystemExit:
        raise SystemExit(code) from None


def _views(form: str) -> Callable[[ApplicationPlan, StateDirectory], Sequence[View]]:
    """Return a function that opens the output of a run."""

    def opened(plan: ApplicationPlan, state: StateDirectory) -> Sequence[View]:
        from cli.output.views import open_views
        from streamlets.runner.views import ViewContext

        default = "table" if sys.stdout.isatty() else "lines"
        return open_views(default if form == "auto" else form, (), ViewContext(plan=plan, state=state, bounded=True))

    return opened


def _say(form: str) -> Callable[[str], None]:
    """Return a function that prints a line for people."""
    return lambda line: click.echo(line, err=form == "jsonl")


def _report(done: Backfill, form: str, found: Mapping[str, Difference], letters: str | None, home: Path) -> None:
    """Print what a backfill has done, and what differs.

    Arguments:
        done: the backfill.
        form: the format.
        found: the differences by topic.
        letters: the id of the topic for dead letters; None if there is none.
        home: the directory of the backfill.
    """
    request = done.request
    if form == "jsonl":
        results = {topic: result.records for topic, result in done.results.items()}
        data: dict[str, Any] = {"backfill": done.name, "records": done.records, "results": results}
        differences = {topic: as_data(topic, done.name, each) for topic, each in found.items()}
        data |= {"into": request.into or None, "topic": request.topic or None}
        click.echo(json.dumps(data | ({"differences": differences} if found else {}), ensure_ascii=False))
        return
    target = f" in {request.into}" if request.into else f" in the topic `{request.topic}`" if request.topic else ""
    for topic, result in done.results.items():
        if topic != letters:
            click.echo(f"{done.name}: {counted(result.records or 0, 'result')} of {topic}{target}")
        elif result.records:
            where = target if request.into else f"; `flow dead-letters` shows them with `--state-dir {home}`"
            click.echo(f"{done.name}: {counted(result.records, 'dead letter')}{where}")
    for topic, difference in found.items():
        print_difference(topic, done.name, difference)
