"""What differs between two sides with records, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from blueprint.wording import counted

if TYPE_CHECKING:
    from streamlets.datasets.difference import Difference, DifferentRecord

_SHOWN = 200
"""The characters of a value that are shown."""


def as_data(left: str, right: str, found: Difference) -> dict[str, object]:
    """Return a difference as JSON.

    Arguments:
        left: the name of the left side.
        right: the name of the right side.
        found: the difference.
    """
    return {
        "left": {"name": left, "records": found.left},
        "right": {"name": right, "records": found.right},
        "equal": found.equal,
        "different": found.different,
        "only-left": found.only_left,
        "only-right": found.only_right,
        "first": [{"key": one.key, "left": one.left, "right": one.right} for one in found.first],
    }


def print_difference(left: str, right: str, found: Difference) -> None:
    """Print a difference; for the arguments see `as_data`."""
    if found.same:
        click.echo(f"{left} and {right} have the same {counted(found.left, 'record')}")
        return
    verb = "is" if found.equal == 1 else "are"
    click.echo(
        f"{left} has {counted(found.left, 'record')}, {right} has {found.right:,}; {found.equal:,} {verb} the same"
    )
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
    """Return a value as JSON on one line, without characters that a terminal takes for commands."""
    text = json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"
    return shown if shown.isprintable() else "".join(char if char.isprintable() else "\ufffd" for char in shown)
