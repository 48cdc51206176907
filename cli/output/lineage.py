"""The lineage of columns as trees for a terminal, a table of all topics, and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from cli.output.tables import print_table

if TYPE_CHECKING:
    from streamlets.lineage.application import ApplicationLineage
    from streamlets.lineage.targets import Target
    from streamlets.lineage.trace import Step, Tracer

_LINES = ("├─ ", "└─ ", "│  ", "   ")
_PLAIN = ("|- ", "`- ", "|  ", "   ")


def print_traces(tracer: Tracer, targets: Iterable[Target], *, up: bool, down: bool) -> None:
    """Print where columns come from, and who uses them.

    Arguments:
        tracer: follows the columns.
        targets: the columns.
        up: whether to print where they come from.
        down: whether to print who uses them.
    """
    for index, target in enumerate(targets):
        if index:
            click.echo()
        click.echo(" ".join(filter(None, (target.name, tracer.type(target)))))
        if up:
            _print_part("comes from", tracer.origins(target), "an unknown origin", up=True)
        if down:
            _print_part("is used by", tracer.users(target), "nothing", up=False)


def _print_part(heading: str, steps: Sequence[Step], nothing: str, *, up: bool) -> None:
    click.echo(f"  {heading}" if steps else f"  {heading} {nothing}")
    for line in _tree(steps, "  ", _LINES if _draws_lines() else _PLAIN, up=up):
        click.echo(line)


def _tree(steps: Sequence[Step], indent: str, lines: tuple[str, str, str, str], *, up: bool) -> Iterator[str]:
    """Yield the lines of a tree. Upstream, the columns that decide about the records of a streamlet share a line."""
    whole = [step for step in steps if step.decides and up]
    branches = [(_text(step), step.steps) for step in steps if step not in whole]
    for _, deciding in groupby(whole, key=lambda step: step.streamlet):
        branches.append((_deciding(list(deciding)), ()))
    for index, (text, below) in enumerate(branches):
        last = index == len(branches) - 1
        yield f"{indent}{lines[1] if last else lines[0]}{text}"
        yield from _tree(below, indent + (lines[3] if last else lines[2]), lines, up=up)


def _text(step: Step) -> str:
    details = ", ".join(filter(None, (step.type, step.kind.value if step.kind is not None else "", step.note)))
    return f"{step.name}{f': {details}' if details else ''}{_where(step)}"


def _deciding(steps: Sequence[Step]) -> str:
    """Return the columns that decide about the records of one streamlet as a line."""
    kinds: dict[str, list[str]] = {}
    for step in steps:
        kinds.setdefault(step.kind.value if step.kind is not None else "", []).append(step.name)
    listed = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
    return f"records decided by {listed}{_where(steps[0])}"


def _where(step: Step) -> str:
    """Return the streamlet and the place of a step, as the end of its line."""
    place = f"{step.place.file}:{step.place.line}" if step.place is not None else ""
    where = ", ".join(filter(None, (step.streamlet, place)))
    return f"  [{where}]" if where else ""


def print_summary(lineage: ApplicationLineage) -> None:
    """Print each column of each topic and sink, with the columns from which it comes in one step."""
    from streamlets.lineage.targets import all_targets
    from streamlets.lineage.trace import Tracer

    tracer = Tracer(lineage, 1)
    rows = []
    for target in all_targets(lineage):
        sources = dict.fromkeys(_short(step) for step in tracer.origins(target) if not step.decides)
        users = dict.fromkeys(step.streamlet if target.query is None else step.note for step in tracer.users(target))
        where = target.topic if target.query is None else ".".join(target.query)
        cells = (".".join(target.path), tracer.type(target), ", ".join(sources), ", ".join(filter(None, users)))
        rows.append((where, *cells))
    if not rows:
        click.echo(f"the application `{lineage.plan.name}` has no columns: its streamlets have no logic on Spark")
        return
    print_table(("topic or query", "column", "type", "comes from", "used by"), rows)


def _short(step: Step) -> str:
    return f"{step.kind.value} of {step.name}" if step.kind is not None else step.name


def print_json(
    lineage: ApplicationLineage, targets: Sequence[Target], depth: int | None, *, up: bool, down: bool
) -> None:
    """Print the traces of columns as JSON; of all columns, in one step, if there are no targets."""
    from streamlets.lineage.targets import all_targets
    from streamlets.lineage.trace import Tracer

    tracer = Tracer(lineage, depth if targets else depth or 1)
    columns = []
    for target in targets or all_targets(lineage):
        data: dict[str, Any] = {"topic": target.topic} if target.query is None else {"query": ".".join(target.query)}
        data |= {"column": ".".join(target.path), "type": tracer.type(target)}
        if up:
            data["up"] = [_data(step) for step in tracer.origins(target)]
        if down:
            data["down"] = [_data(step) for step in tracer.users(target)]
        columns.append(data)
    click.echo(json.dumps({"application": lineage.plan.name, "columns": columns}, indent=2, ensure_ascii=False))


def _data(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = {"name": step.name}
    if step.kind is not None:
        data |= {"kind": step.kind.type, "subtype": step.kind.subtype}
    data |= {
        key: value for key, value in (("streamlet", step.streamlet), ("type", step.type), ("note", step.note)) if value
    }
    if step.decides:
        data["decides"] = True
    if step.place is not None:
        data["place"] = {"file": step.place.file, "line": step.place.line, "column": step.place.column}
    if step.steps:
        data["steps"] = [_data(inner) for inner in step.steps]
    return data


def _draws_lines() -> bool:
    """Return whether the output's encoding has characters for lines."""
    try:
        "".join(_LINES).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
