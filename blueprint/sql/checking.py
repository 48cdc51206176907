"""Make a job of statements: check names, providers, options, output modes and checkpoints against each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from blueprint.catalog import SINK_NOT_INSTALLED, SinkTraits
from blueprint.core_settings import RETRY_OPTIONS
from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.spelling import alternatives, did_you_mean, listing, near
from blueprint.sql.distinctness import distinct_directories, distinct_names, distinct_outlets
from blueprint.sql.job import CHECKPOINT_LOCATION, POOL, Job, Query, defined_name, table_name
from blueprint.sql.registry import Providers, StreamSource
from blueprint.sql.statements import (
    OUTPUT_MODES,
    Column,
    CreateStream,
    Name,
    Option,
    SaveStream,
    ShowStreams,
    SparkSql,
    Statement,
    StopStream,
    Word,
)

QUERY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""The names of queries: each is the name of a directory, too."""

_LONGEST_QUERY_NAME = 200
T = TypeVar("T")


def check_job(
    statements: Sequence[Statement],
    providers: Providers,
    text: Span,
    inlets: Collection[str] = (),
    outlets: Collection[str] = (),
) -> tuple[Job, tuple[Diagnostic, ...]]:
    """Return the job of statements, and the mistakes in it.

    Arguments:
        statements: the statements of the text.
        providers: the available sinks and sources.
        text: the place of the whole text, for findings about what is missing.
        inlets: the names of the streamlet's inlets, which are streams without a `CREATE STREAM`.
        outlets: the names of its outlets, to which streams can be saved.

    Returns:
        The job, which is complete if there are no findings.
    """
    checks = _Checks(providers, inlets, outlets)
    job = checks.job(statements)
    if not any(isinstance(statement, SaveStream | StopStream | ShowStreams) for statement in statements):
        helps = ("add a statement such as `SAVE STREAM flights TO parquet OPTIONS ('path' = 'out');`",)
        checks.findings.append(finding("sql-job", "the job saves no stream", _start(text), help=helps))
    return job, tuple(checks.findings)


def _start(text: Span) -> Span:
    return Span(text.file, text.line, text.column, text.line, text.column)


class _Checks:
    """Collects findings about the statements of one job."""

    def __init__(self, providers: Providers, inlets: Collection[str], outlets: Collection[str]) -> None:
        self.findings: list[Diagnostic] = []
        self._providers = providers
        self._inlets = [table_name(inlet) for inlet in inlets]
        self._outlets = {table_name(outlet): outlet for outlet in outlets}

    def job(self, statements: Sequence[Statement]) -> Job:
        """Return the job, and collect its mistakes."""
        definitions = tuple(statement for statement in statements if isinstance(statement, CreateStream | SparkSql))
        saves = [statement for statement in statements if isinstance(statement, SaveStream)]
        for statement in statements:
            if isinstance(statement, StopStream | ShowStreams):
                self._command(statement)
        self._distinct_views(definitions)
        for definition in definitions:
            if isinstance(definition, CreateStream):
                self._source(definition)
        columns = {
            definition.name.text.lower(): definition.columns
            for definition in definitions
            if isinstance(definition, CreateStream)
        }
        known = [name.text for name in map(defined_name, definitions) if name is not None]
        complete = all(name.known for name in map(defined_name, definitions) if name is not None)
        queries = []
        for save in saves:
            if complete:
                self._table(save, (*self._inlets, *known))
            self._columns(save, columns.get(save.table.last.lower(), ()) if len(save.table.parts) == 1 else ())
            queries.append(self._query(save))
        self.findings += distinct_names(queries)
        self.findings += distinct_outlets(queries)
        self.findings += distinct_directories(queries, self._providers.sinks)
        return Job(definitions, tuple(queries))

    # Names

    def _command(self, statement: StopStream | ShowStreams) -> None:
        text = "SHOW STREAMS" if isinstance(statement, ShowStreams) else "STOP STREAM"
        shown = text if isinstance(statement, ShowStreams) else f"{text} {statement.query.text}"
        self._report(
            "sql-job", f"`{text}` is not a statement of a job", statement.span,
            causes=("it is for an application that runs",), help=(f'remove it, and run `flow sql -e "{shown}"`',),
        )  # fmt: skip

    def _distinct_views(self, definitions: Iterable[CreateStream | SparkSql]) -> None:
        first: dict[str, Word] = {}
        for definition in definitions:
            name = defined_name(definition)
            if name is None or not name.known:
                continue
            earlier = first.setdefault(name.text.lower(), name)
            if earlier is not name:
                self._report(
                    "sql-duplicate", f"duplicate name `{name.text}` of a stream or view", name.span,
                    also=(Label(earlier.span, "first defined here"),), help=("rename one of them",),
                )  # fmt: skip
        for inlet in self._inlets:
            if (name := first.get(inlet.lower())) is not None:
                self._report(
                    "sql-duplicate", f"`{name.text}` is the name of an inlet of this streamlet", name.span,
                    help=("rename the stream or view",),
                )  # fmt: skip

    def _table(self, save: SaveStream, known: Sequence[str]) -> None:
        """Check that the job defines what a statement saves. A name with a database is a table of the catalog."""
        table = save.table
        if len(table.parts) > 1 or not table.known or table.last.lower() in {name.lower() for name in known}:
            return
        exist = f"available: {listing(known)}" if known else "define it with `CREATE STREAM`"
        kinds = "inlet, stream or view" if self._inlets else "stream or view"
        qualified = "write `database.table` for a table of the catalog"
        self._report(
            "sql-unknown-name", f"there is no {kinds} `{table.last}`", table.span,
            help=did_you_mean(table.last, known) or (exist, qualified),
        )  # fmt: skip

    def _columns(self, save: SaveStream, defined: Sequence[Column]) -> None:
        """Check the listed columns and the partition columns of a statement against the columns of its stream."""
        if defined:
            names = [column.name.text for column in defined]
            for column in save.columns:
                self._column(column.name, names, f"the stream `{save.table.last}`")
        columns = [column.name.text for column in save.columns or defined]
        if not columns or not save.partitioned_on:
            return
        whose = f"the stream `{save.table.last}`" if not save.columns else "the list of columns"
        missing = [self._column(column, columns, whose) for column in save.partitioned_on]
        if not any(missing) and len(save.partitioned_on) >= len(columns):
            self._report(
                "sql-partition", "the rows are partitioned on all their columns", save.partitioned_on[-1].span,
                help=("at least one column must remain for the files",),
            )  # fmt: skip

    def _column(self, column: Word, known: Sequence[str], whose: str) -> bool:
        """Report a column that does not exist; return whether it was reported."""
        if not column.known or column.text.lower() in {name.lower() for name in known}:
            return False
        self._report(
            "sql-unknown-name", f"{whose} has no column `{column.text}`", column.span,
            help=did_you_mean(column.text, known) or (f"its columns are {listing(known)}",),
        )  # fmt: skip
        return True

    # Sources

    def _source(self, stream: CreateStream) -> None:
        source = self._provider(stream.provider, self._providers.sources, "source")
        if source is None:
            return
        provider = stream.provider.plain
        if source.columns == "required" and not stream.columns:
            self._report(
                "sql-provider", f"the columns of a stream from `{provider}` must be listed", stream.name.span,
                help=(f"write `CREATE STREAM {stream.name.text} (column type, ...) FROM {provider}`",),
            )  # fmt: skip
        if source.columns == "fixed" and stream.columns:
            self._report(
                "sql-provider", f"a stream from `{provider}` has fixed columns", stream.columns[0].name.span,
                help=("remove the list of columns",),
            )  # fmt: skip
        self._source_options(stream, source)

    def _source_options(self, stream: CreateStream, source: StreamSource) -> None:
        provider = stream.provider.plain
        options = {option.key.text.lower(): option for option in stream.options}
        every = tuple(name for names in source.required for name in names) + (source.options or ())
        known = {name.lower() for name in every}
        unknown = [option for key, option in options.items() if key not in known and option.key.known]
        unknown = [option for option in unknown if not option.key.text.lower().startswith(source.prefixes or ("\0",))]
        claimed: set[str] = set()
        for names in source.required:
            present = [options[name.lower()] for name in names if name.lower() in options]
            if len(present) > 1:
                self._report(
                    "sql-option", f"the options {listing(option.key.text for option in present)} exclude each other",
                    present[1].key.span, also=(Label(present[0].key.span, "the other option"),),
                    help=("remove one of them",),
                )  # fmt: skip
            misspelt = [option for option in unknown if near(option.key.text, names)]
            if not present and misspelt:
                claimed.add(misspelt[0].key.text)
                self._unknown_option(misspelt[0], f"the source `{provider}`", names)
            elif not present:
                self._report(
                    "sql-option", f"a stream from `{provider}` requires the option {alternatives(names)}",
                    stream.provider.span, help=(f"add `OPTIONS ('{names[0]}' = '...')`",),
                )  # fmt: skip
        if source.options is not None:
            for option in unknown:
                if option.key.text not in claimed:
                    self._unknown_option(option, f"the source `{provider}`", every)

    def _unknown_option(self, option: Option, whose: str, known: Iterable[str]) -> None:
        known = tuple(known)
        self._report(
            "sql-option", f"{whose} has no option `{option.key.text}`", option.key.span,
            help=did_you_mean(option.key.text, known) or (f"its options are {listing(known)}",),
        )  # fmt: skip

    # Queries

    def _query(self, save: SaveStream) -> Query:
        name = save.query_name
        if name.known:
            self._query_name(name, explicit=save.query is not None)
        outlet = self._outlet(save)
        sink = self._provider(save.provider, self._providers.sinks, "sink") if outlet is None else None
        mode = save.output_mode.text if save.output_mode is not None else "append"
        options, retry, checkpoint, pool = self._sorted_options(save, sink)
        if sink is not None:
            self._sink(save, sink)
        if outlet is not None:
            self._outlet_clauses(save, outlet, options)
        return Query(
            name=name.text,
            statement=save,
            sink=save.provider.plain.lower() if outlet is None else "",
            outlet=outlet,
            output_mode=next((known for known in OUTPUT_MODES if known == mode), "append"),
            trigger=save.trigger.trigger if save.trigger is not None else None,
            options=options,
            retry=tuple(retry),
            checkpoint=checkpoint,
            pool=pool,
        )

    def _outlet(self, save: SaveStream) -> str | None:
        """Return the outlet that a statement saves to; None if it saves to a sink."""
        outlets = {name.lower(): outlet for name, outlet in self._outlets.items()}
        outlet = outlets.get(table_name(save.provider.plain).lower()) if save.provider.known else None
        if outlet is not None and save.provider.plain.lower() in self._providers.sinks:
            self._report(
                "sql-provider", f"`{save.provider.plain}` is both an outlet of this streamlet and a sink",
                save.provider.span, help=("rename the outlet in the blueprint",),
            )  # fmt: skip
        return outlet

    def _outlet_clauses(self, save: SaveStream, outlet: str, options: Mapping[str, Option]) -> None:
        """Report clauses that only sinks have. The settings of an outlet are in the blueprint."""
        if save.partitioned_on:
            self._report(
                "sql-partition", f"the records of the outlet `{outlet}` are partitioned as the blueprint sets it",
                save.partitioned_on[0].span,
                help=(f"remove `PARTITIONED ON`, and set `outlets.{outlet}.partition-by` in the blueprint",),
            )  # fmt: skip
        for option in options.values():
            settings = f"the settings of the outlet are in the blueprint, below `outlets.{outlet}`"
            self._report(
                "sql-option", f"the outlet `{outlet}` has no option `{option.key.text}`", option.key.span,
                help=(settings,),
            )  # fmt: skip

    def _query_name(self, name: Word, *, explicit: bool) -> None:
        fault = ""
        if not QUERY_NAME.fullmatch(name.text) or ".." in name.text:
            fault = "use letters, digits, `-`, `_` and single `.`, with a letter or digit first"
        elif len(name.text) > _LONGEST_QUERY_NAME:
            fault = f"use at most {_LONGEST_QUERY_NAME} characters"
        if fault:
            derived = () if explicit else ("name the query with `IDENTIFIED BY`",)
            self._report("sql-query-name", f"invalid query name `{name.text}`", name.span, help=(fault, *derived))

    def _provider(self, name: Name, known: Mapping[str, T], kind: str) -> T | None:
        """Return the provider of a name; None if it is not known, which is reported unless it is a class."""
        if not name.known or name.plain.lower() in known:
            return known.get(name.plain.lower())
        if kind == "sink" or len(name.parts) == 1:
            outlets = self._outlets if kind == "sink" else {}
            every, noun = (*outlets, *sorted(known)), "sink or outlet" if outlets else kind
            help = did_you_mean(name.plain.lower(), every, heard=True) or (
                f"available: {listing(every)}", *((SINK_NOT_INSTALLED,) if kind == "sink" else ())
            )  # fmt: skip
            self._report("sql-provider", f"there is no {noun} `{name.plain}`", name.span, help=help)
        return None

    def _sorted_options(
        self, save: SaveStream, sink: SinkTraits | None
    ) -> tuple[dict[str, Option], list[Option], Option | None, Option | None]:
        """Return the options of the sink by its names, of restarts, of the checkpoint and of the scheduler pool."""
        options: dict[str, Option] = {}
        retry: list[Option] = []
        checkpoint = pool = None
        names = _names(sink) if sink is not None else {}
        for option in save.options:
            key = option.key.text
            if key.lower().startswith(RETRY_OPTIONS):
                retry.append(option)
            elif key.lower() == CHECKPOINT_LOCATION:
                checkpoint = option
            elif key.lower() == POOL:
                pool = option
            else:
                name = names.get(_plain(key), key)
                if name in options:
                    self._report(
                        "sql-duplicate", f"`{options[name].key.text}` and `{key}` are the same option", option.key.span,
                        also=(Label(options[name].key.span, "first written here"),), help=("remove one of them",),
                    )  # fmt: skip
                options[name] = option
        if checkpoint is not None and checkpoint.value.known and not checkpoint.value.text.strip():
            self._report("sql-option", "the option `checkpointLocation` is empty", checkpoint.value.span)
        return options, retry, checkpoint, pool

    def _sink(self, save: SaveStream, sink: SinkTraits) -> None:
        provider = save.provider.plain
        mode = save.output_mode
        if (mode is None or mode.known) and (mode.text if mode else "append") not in sink.output_modes:
            modes = tuple(mode.upper() for mode in sink.output_modes)
            shown = (mode.text if mode else "append").upper()
            self._report(
                "sql-provider", f"the sink `{provider}` does not support the output mode `{shown}`",
                mode.span if mode is not None else save.provider.span,
                help=(f"write `OUTPUT MODE` with {alternatives(modes)}",),
            )  # fmt: skip
        if save.partitioned_on and not sink.partitioning:
            self._report(
                "sql-partition", f"the sink `{provider}` cannot partition its output", save.partitioned_on[0].span,
                help=("remove `PARTITIONED ON`",),
            )  # fmt: skip

    def _report(
        self, code: str, headline: str, at: Span, *, also: Iterable[Label] = (), causes: Iterable[str] = (),
        help: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.findings.append(finding(code, headline, at, also=also, causes=causes, help=help))


def _names(sink: SinkTraits) -> dict[str, str]:
    """Return a sink's options by their notations: Spark's `maxRecordsPerFile` is `max-records-per-file`."""
    return {_plain(option.name): option.name for option in sink.options}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()
