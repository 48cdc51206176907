"""`flow diff`: compare records of a topic with another topic or with a file, without Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blueprint.wording import counted
from cli.groups import imports_modules
from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.records import progress, range_options, reading_topics, records_of, reported, shown_topic
from cli.state import state_directories, state_options

if TYPE_CHECKING:
    from blueprint.avro.model import Contract
    from streamlets.datasets.difference import Difference, DifferentRecord

_FIRST = 10


@imports_modules("with servers")
@click.command()
@click.argument("left", metavar="TOPIC")
@click.argument("right", metavar="TOPIC|FILE")
@path_argument
@state_options
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
    by: str | None,
    ignore: str | None,
    since: float | None,
    until: float | None,
    schema: str | None,
    limit: int,
    form: str,
) -> None:
    """Compare the records of a topic with another topic, or with a file.

    A file is Parquet (.parquet), CSV (.csv), JSON lines (.jsonl) or an Avro container (.avro). Both sides are read with
    the schema of the first. The order of records does not matter, how often each is there does. With --by, records that
    have the same values in these columns are compared value by value. --since and --until choose records of topics.

    PATH is the application's blueprint or directory (default: the working directory). The application may be running.
    The exit code is 0 if the records are the same, 1 if they differ or cannot be read.
    """
    from streamlets.datasets.difference import compare

    with reading_topics(), _reading_files():
        states = state_directories(path, state_dir, application)
        state, resource = shown_topic(left, path, states)
        records = records_of(state, resource, schema, since, until)
        contract = records.contract
        keys, ignored = _columns("--by", by, contract), _columns("--ignore", ignore, contract)
        if both := set(keys) & set(ignored):
            raise click.UsageError(f"`{min(both)}` is in --by and in --ignore")
        rows = _right(right, path, state_dir, application, contract, (since, until))
        report = progress("read", form)
        found = compare(records.rows(), rows, contract, by=keys, ignored=ignored, limit=limit, report=report)
    if form == "json":
        click.echo(json.dumps(_as_data(state.application, left, right, found), ensure_ascii=False, indent=2))
    else:
        _print(left, right, found)
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
    name: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    contract: Contract,
    times: tuple[float | None, float | None],
) -> Iterable[Mapping[str, Any]]:
    """Return the records of the other topic or of a file, with the schema of the first.

    Raises:
        click.UsageError: there is no such topic or file.
    """
    from streamlets.datasets.formats import FORMATS, format_of
    from streamlets.datasets.topic_records import TopicRecords

    file = Path(name)
    form = format_of(file)
    if form is not None and file.is_file():
        return form.rows(file, contract)
    if form is not None or file.is_file():
        suffixes = ", ".join(one.suffix for one in FORMATS.values())
        problem = f"there is no file {file}" if form is not None else f"the name of {file} ends with none of {suffixes}"
        raise click.UsageError(problem)
    _, other = shown_topic(name, path, state_directories(path, state_dir, application))
    since, until = times
    return reported(TopicRecords(topic=other, contract=contract, since=since, until=until)).rows()


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


def _as_data(application: str, left: str, right: str, found: Difference) -> dict[str, object]:
    return {
        "application": application,
        "left": {"name": left, "records": found.left},
        "right": {"name": right, "records": found.right},
        "equal": found.equal,
        "different": found.different,
        "only-left": found.only_left,
        "only-right": found.only_right,
        "first": [{"key": one.key, "left": one.left, "right": one.right} for one in found.first],
    }


def _print(left: str, right: str, found: Difference) -> None:
    if found.same:
        click.echo(f"{left} and {right} have the same {counted(found.left, 'record')}")
        return
    click.echo(f"{left} has {counted(found.left, 'record')}, {right} has {found.right:,}; {found.equal:,} are the same")
    counts = {"different": found.different, f"only in {left}": found.only_left, f"only in {right}": found.only_right}
    for what, count in counts.items():
        if count:
            click.echo(f"  {count:,} {what}")
    for one in found.first:
        click.echo("\n" + "\n".join(_lines(one, left, right)))
    if (hidden := sum(counts.values()) - len(found.first)) > 0:
        click.echo(f"\n{hidden:,} more; --limit shows more of them")


def _lines(one: DifferentRecord, left: str, right: str) -> Iterator[str]:
    key = ", ".join(f"{name} = {_value(value)}" for name, value in one.key.items())
    if one.left is not None and one.right is not None:
        yield key
        for name, value in one.left.items():
            if one.right[name] != value:
                yield f"  {name}: {_value(value)} in {left}, {_value(one.right[name])} in {right}"
        return
    record = one.left if one.left is not None else one.right
    assert record is not None
    place = left if one.left is not None else right
    yield f"only in {place}: {', '.join(f'{name} = {_value(value)}' for name, value in record.items())}"


def _value(value: object) -> str:
    """Return a value on one line, without control characters."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return re.sub(r"[\x00-\x1f\x7f]", "\ufffd", text) if text.isprintable() is False else text
