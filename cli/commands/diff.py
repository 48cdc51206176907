"""`flow diff`: compare records of a topic with another topic or with a file, without Spark."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.groups import imports_modules
from cli.options import format_option, path_argument
from cli.output.differences import as_data, print_difference
from cli.output.errors import fail
from cli.records import (
    FORMATS,
    clearing_up,
    format_of,
    progress,
    range_options,
    reading_topics,
    records_of,
    reported,
    shown_topic,
)
from cli.state import having_name, state_directories, state_options, topics_of

if TYPE_CHECKING:
    from blueprint.avro.model import Contract
    from streamlets.datasets.topic_records import TopicRecords
    from streamlets.runner.state_directory.directory import StateDirectory

_FIRST = 10


@imports_modules("with servers")
@click.command()
@click.argument("left", metavar="TOPIC")
@click.argument("right", metavar="TOPIC|FILE")
@path_argument
@state_options
@click.option("--as", "name", type=click.Choice(FORMATS), help="The format of the file (default: by its name).")
@click.option("--by", metavar="COLUMN,...", help="The columns that identify a record.")
@click.option("--ignore", metavar="COLUMN,...", help="Columns whose values do not matter.")
@range_options
@click.option(
    "--limit", type=click.IntRange(min=0), default=_FIRST, show_default=True,
    help="The number of records to show that are not the same.",
)  # fmt: skip
@format_option()
def diff(
    left: str,
    right: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    name: str | None,
    by: str | None,
    ignore: str | None,
    since: float | None,
    until: float | None,
    schema: str | None,
    limit: int,
    form: str,
) -> None:
    """Compare the records of a topic with another topic, or with a file.

    A file is Parquet (.parquet), CSV (.csv), JSON lines (.jsonl) or an Avro container (.avro); if there is a
    topic of its name, too, the file counts. Both sides are read with the schema of the first. The order of records does
    not matter, how often each is there does. With --by, records that have the same values in these columns are compared
    value by value. --since and --until choose records of topics.

    PATH is the application's blueprint or directory (default: the working directory). The application may be running.
    The exit code is 0 if the records are the same, 1 if they differ or cannot be read.
    """
    from streamlets.datasets.difference import compare

    with reading_topics(), _reading_files(), clearing_up():
        states = state_directories(path, state_dir, application)
        state, resource = shown_topic(left, path, states)
        records = records_of(state, resource, schema, since, until)
        contract = records.contract
        keys, ignored = _columns("--by", by, contract), _columns("--ignore", ignore, contract)
        if both := set(keys) & set(ignored):
            raise click.UsageError(f"`{min(both)}` is in --by and in --ignore")
        required = [field.name for field in contract.record.fields if field.name not in ignored]
        rows = _right(right, name, path, states, records, required)
        report = progress("read", form)
        found = compare(records.rows(), rows, contract, by=keys, ignored=ignored, limit=limit, report=report)
    if form == "json":
        click.echo(
            json.dumps({"application": state.application} | as_data(left, right, found), ensure_ascii=False, indent=2)
        )
    elif left == right:
        print_difference(f"{left} (left)", f"{right} (right)", found)
    else:
        print_difference(left, right, found)
    raise SystemExit(0 if found.same else 1)


def _columns(option: str, text: str | None, contract: Contract) -> tuple[str, ...]:
    """Return the columns that an option names.

    Raises:
        click.UsageError: the contract does not have one.
    """
    from blueprint.spelling import suggestion

    known = [field.name for field in contract.record.fields]
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip())) if text is not None else ()
    if text is not None and not names:
        raise click.UsageError(f"{option} names no column; {suggestion('', known)}")
    for name in names:
        if name not in known:
            raise click.UsageError(f"{option}: the records have no column `{name}`; {suggestion(name, known)}")
    return names


def _right(
    name: str, form: str | None, path: Path, states: Sequence[StateDirectory], left: TopicRecords,
    required: Collection[str],
) -> Iterable[Mapping[str, Any]]:  # fmt: skip
    """Return the records of the other topic or of a file, with the schema and the times of the first.

    Raises:
        click.UsageError: there is no such topic or file.
    """
    file = Path(name)
    if file.is_file():
        return format_of(file, form).rows(file, left.contract, required)
    meant = form is not None or file.suffix or file.is_dir()
    if meant and not any(having_name(name, topics_of(state, path)) for state in states):
        is_directory = f"{file} is a directory; name one of its files"
        raise click.UsageError(is_directory if file.is_dir() else f"there is no file or topic `{file}`")
    _, other = shown_topic(name, path, states)
    end = left.end if other.plan == left.topic.plan else other.end()
    return reported(replace(left, topic=other, end=end)).rows()


@contextmanager
def _reading_files() -> Iterator[None]:
    from streamlets.datasets.formats import FileError

    try:
        yield
    except FileError as error:
        fail(str(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        fail(f"the records cannot be compared: {place}{error.strerror or error}")
