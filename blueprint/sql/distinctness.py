"""What the queries of a job must not share: names, outlets and directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from blueprint.catalog import ParameterType, SinkTraits
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.sql.job import Query, normal_path
from blueprint.sql.statements import Option


def distinct_outlets(queries: Sequence[Query]) -> Iterator[Diagnostic]:
    """Check that one query writes each outlet: two would have two positions in its topic."""
    first: dict[str, Query] = {}
    for query in queries:
        if query.outlet is None:
            continue
        earlier = first.setdefault(query.outlet, query)
        if earlier is not query:
            yield finding(
                "sql-duplicate", f"two queries write the outlet `{query.outlet}`", query.statement.provider.span,
                also=(Label(earlier.statement.provider.span, "the other query"),),
                help=("save the union of both streams, or add a second outlet",),
            )  # fmt: skip


def distinct_names(queries: Sequence[Query]) -> Iterator[Diagnostic]:
    """Check that query names are different without case: each query has a directory of its name."""
    first: dict[str, Query] = {}
    for query in queries:
        earlier = first.setdefault(query.name.lower(), query)
        if earlier is query or not query.statement.query_name.known:
            continue
        name, known = query.statement.query_name, earlier.statement.query_name
        helps = ["name one of the queries with `IDENTIFIED BY`"]
        if query.statement.query is None and query.sink != earlier.sink and query.statement.provider.known:
            helps = [f"write `IDENTIFIED BY {query.name}_{query.statement.provider.parts[-1].text.lower()}`"]
        yield finding(
            "sql-query-clash", f"duplicate query name `{name.text}`", name.span,
            also=(Label(known.span, "first used here"),), help=helps,
        )  # fmt: skip


def distinct_directories(queries: Sequence[Query], sinks: Mapping[str, SinkTraits]) -> Iterator[Diagnostic]:
    """Check that no two queries keep their checkpoint, or write their files, in the same place."""
    checkpoints = [query.checkpoint for query in queries if query.checkpoint is not None]
    yield from _distinct_paths("checkpoint", checkpoints, "or omit `checkpointLocation`")
    outputs = [
        query.options[name.name]
        for query in queries
        if (sink := sinks.get(query.sink)) is not None
        for name in sink.options
        if name.type is ParameterType.PATH and name.name in query.options
    ]
    yield from _distinct_paths("output", outputs, "or save the union of both streams")


def _distinct_paths(purpose: str, options: Iterable[Option], otherwise: str) -> Iterator[Diagnostic]:
    paths = [(normal_path(option.value.text), option) for option in options if option.value.known]
    for (first, earlier), (second, later) in combinations(paths, 2):
        nested = second.startswith(f"{first.rstrip('/')}/") or first.startswith(f"{second.rstrip('/')}/")
        if first == second or nested:
            directories = f"the same {purpose} directory" if first == second else f"nested {purpose} directories"
            yield finding(
                "sql-directory-clash", f"two queries have {directories}", later.value.span,
                also=(Label(earlier.value.span, "the other query"),),
                help=(f"give each query a directory of its own, {otherwise}",),
            )  # fmt: skip
