"""What commands that show, export and compare records have in common: topics, their schemas, and times."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from blueprint.wording import counted
from cli.options import DurationType
from cli.output.errors import fail
from cli.state import having_name, names_of, own_of, require_channel, topics_of

if TYPE_CHECKING:
    from blueprint.avro.model import Contract
    from streamlets.channels.base import TopicResource
    from streamlets.datasets.formats import FileFormat
    from streamlets.datasets.topic_records import TopicRecords
    from streamlets.runner.state_directory.directory import StateDirectory

FORMATS = ("parquet", "csv", "jsonl", "avro")
"""The names of the formats of files, which `streamlets.datasets.formats` has."""

_REPORT_EVERY = 5.0
"""Seconds between two lines of progress."""


class TimeType(click.ParamType[float]):
    """The value of an option: a time in ISO 8601, in UTC unless it has a zone, or an age such as `2 hours`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a time in seconds since the epoch."""
        from datetime import UTC, datetime

        if isinstance(value, float):
            return value
        text = str(value)
        try:
            parsed = datetime.fromisoformat(text)
        except ValueError:
            try:
                return time.time() - DurationType().convert(text, param, ctx)
            except click.UsageError:
                self.fail(f"`{text}` is neither a time, such as 2026-01-31T12:00, nor an age, such as 2h", param, ctx)
        return (parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)).timestamp()


def range_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--since`, `--until` and `--schema`, which choose records of a topic."""
    for option in (
        click.option(
            "--schema", metavar="FINGERPRINT",
            help="Read the records with this schema, as shown by `flow topics` (default: the one of the last run).",
        ),
        click.option(
            "--until", type=TimeType(), metavar="TIME", help="Only records that were committed before this time."
        ),
        click.option(
            "--since", type=TimeType(), metavar="TIME",
            help="Only records that were committed since this time, such as 2026-01-31T12:00 (UTC), or an age: 2h.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@contextmanager
def clearing_up() -> Iterator[None]:
    """Let a signal that ends the process remove temporary files first, as Ctrl-C does.

    Raises:
        SystemExit: 143, when SIGTERM arrives in the block.
    """

    def end(*_: object) -> NoReturn:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def reading_topics() -> Iterator[None]:
    """Turn the errors of reading topics into messages.

    Raises:
        SystemExit: 1, when a topic cannot be read; an error has been printed.
    """
    from streamlets.channels.base import ChannelUnavailableError, TopicLostError, TopicWriteError
    from streamlets.channels.unreadable import UnreadableRecordsError
    from streamlets.contract.wire.registry import RegistryError

    try:
        yield
    except RegistryError as error:
        fail(str(error), "check `schema-registry` of the topic, and whether the registry answers")
    except UnreadableRecordsError as error:
        fail(str(error), f"--schema {error.fingerprint} reads these records")
    except (ChannelUnavailableError, TopicLostError, TopicWriteError) as error:
        fail(str(error), getattr(error, "help", ""))


def shown_topic(name: str, path: Path, states: Sequence[StateDirectory]) -> tuple[StateDirectory, TopicResource]:
    """Return the topic with a name, and the application that has it. Messages of others are reported as it is read.

    Arguments:
        name: the name of the topic on its channel, or its id in the blueprint.
        path: a blueprint or its directory; its application is preferred.
        states: the applications.

    Raises:
        click.UsageError: there is no such topic, its channel is not installed, or several applications have one.
        SystemExit: 1, when the schema of its messages is not known; an error has been printed.
    """
    from blueprint.spelling import suggestion

    topics = [(state, topics_of(state, path)) for state in states]
    matching = [(state, topic) for state, known in topics for topic in having_name(name, known)]
    own = own_of(states, path)
    matching = [(state, topic) for state, topic in matching if state == own] or matching
    if len(matching) == 1:
        ((state, topic),) = matching
        return state, _shown(state, topic)
    if matching:
        applications = ", ".join(state.application for state, _ in matching)
        raise click.UsageError(f"{applications} have a topic `{name}` each; choose one with --application")
    require_channel(name, states)
    names = names_of(topic for _, known in topics for topic in known)
    raise click.UsageError(f"there is no topic `{name}`; {suggestion(name, names)}")


def _shown(state: StateDirectory, topic: TopicResource) -> TopicResource:
    """Return a topic so that its records can be shown: messages of others that are not records are reported."""
    from streamlets.runner.deployment import schema_of

    try:
        return topic.shown_with(
            schema_of(state, topic.plan.id), lambda text: click.echo(f"not a record: {text}", err=True)
        )
    except ValueError as error:
        fail(str(error), "start the application once: its inlets and outlets have the schema of the messages")


def records_of(
    state: StateDirectory, topic: TopicResource, schema: str | None, since: float | None, until: float | None
) -> TopicRecords:
    """Return the records that a topic has now, with one schema. Fields that only other schemas have are reported.

    Arguments:
        state: the application.
        topic: the topic, as `shown_topic` returns it.
        schema: the fingerprint of the schema; None for the one of the last run.
        since, until: the limits of their times of commit, in seconds since the epoch; None for no limit.

    Raises:
        click.UsageError: the schema is not known, or the limits are in the wrong order.
        TopicLostError: the topic does not exist.
    """
    from streamlets.datasets.topic_records import TopicRecords

    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since must be before --until")
    contract = _contract(state, topic, schema)
    return reported(TopicRecords(topic=topic, contract=contract, end=topic.end(), since=since, until=until))


def reported(records: TopicRecords) -> TopicRecords:
    """Return records of a topic. Fields that only other schemas of the topic have are reported.

    Raises:
        TopicLostError: the topic does not exist.
    """
    if omitted := records.omitted():
        name, listed = records.topic.plan.name, ", ".join(f"`{field}`" for field in omitted)
        verb = "is" if len(omitted) == 1 else "are"
        click.echo(f"{listed} of other schemas of `{name}` {verb} not read", err=True)
    return records


def _contract(state: StateDirectory, topic: TopicResource, fingerprint: str | None) -> Contract:
    from streamlets.runner.deployment import schema_of

    name, stored = topic.plan.name, topic.contracts()
    ran = schema_of(state, topic.plan.id, written=True)
    all_known = (*stored, ran) if ran is not None else stored
    known: dict[str, Contract] = {contract.fingerprint: contract for contract in all_known}
    if fingerprint is not None and fingerprint not in known:
        raise click.UsageError(
            f"`{name}` has no schema `{fingerprint}`: its schemas are {', '.join(known) or 'unknown'}"
        )
    if fingerprint is not None:
        return known[fingerprint]
    if ran is not None:
        return ran
    if len(stored) == 1:
        return stored[0]
    if stored:
        raise click.UsageError(f"`{name}` has several schemas; choose one with --schema: {', '.join(known)}")
    raise click.UsageError(f"the schema of `{name}` is not known: it has no records, and the application has not run")


def format_of(file: Path, name: str | None) -> FileFormat:
    """Return the format of a file.

    Arguments:
        file: its path.
        name: the name of the format; None to take it from the path.

    Raises:
        click.UsageError: the path has none.
    """
    from streamlets.datasets import formats

    chosen = formats.FORMATS[name] if name is not None else formats.format_of(file)
    if chosen is None:
        suffixes = ", ".join(one.suffix for one in formats.FORMATS.values())
        raise click.UsageError(
            f"the name of {file} ends with none of {suffixes}: choose the format with --as {'|'.join(formats.FORMATS)}"
        )
    return chosen


def progress(what: str, form: str) -> Callable[[int], None]:
    """Return a function that prints progress on the standard error from time to time, for people.

    Arguments:
        what: what has been done, such as `exported`.
        form: the format of the output; others than `text` have no progress.
    """
    last = time.monotonic()

    def report(records: int) -> None:
        nonlocal last
        if form == "text" and time.monotonic() - last >= _REPORT_EVERY:
            last = time.monotonic()
            click.echo(f"{counted(records, 'record')} {what}", err=True)
            sys.stderr.flush()

    return report
