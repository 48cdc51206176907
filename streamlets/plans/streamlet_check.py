"""`StreamletCheck`: builds the logic of one streamlet and checks its queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from blueprint.catalog import PortDescriptor
from blueprint.comparison.descriptor import BuiltQuery
from blueprint.diagnostics import Diagnostic, Label, Severity, Span, finding
from blueprint.logic import Buildable
from blueprint.plan import InletPlan
from blueprint.spelling import alternatives
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import parameter_of
from streamlets.api.streamlet import SparkStreamlet
from streamlets.plans import syntax
from streamlets.plans.build_errors import build_error_finding, raised_finding
from streamlets.plans.built_streamlet import BuiltStreamlet
from streamlets.plans.empty_ports import EmptyPorts, Mismatch
from streamlets.plans.places import Places, span_of
from streamlets.plans.port_findings import mismatch_finding, unused_inlets, unwritten_outlets
from streamlets.plans.queries import CheckedQuery, query_findings
from streamlets.plans.return_conditions import condition_findings
from streamlets.plans.signals import Signals
from streamlets.plans.sql_help import in_sql
from streamlets.plans.state_sample import sampled_state
from streamlets.plans.unstarted_query import UnstartedQuery
from streamlets.plans.watch import Observations, Watch
from streamlets.project.loading import StreamletNotLoadedError, streamlet_of
from streamlets.project.modules import Project
from streamlets.spark.plan_queries import described
from streamlets.spark.query_logic import logic_of
from streamlets.spark.session import abandon_call, answers
from streamlets.spark.stream_writer import facts, rows_of
from streamlets.sql import Sql
from streamlets.time_limit import TimeLimitError, time_limit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Queries = tuple["StreamingWrite | UnstartedQuery", ...]


class StreamletCheck:
    """The check of one streamlet.

    Arguments:
        streamlet: the streamlet.
        project: its project.
        session: its own session, which is the active one.
        directory: a directory for empty streams and other temporary files.
        watch: the watch on the logic.
        places: the locations in the project.
        signals: the signals while the logic is built.
        longest_build: seconds after which building the logic is abandoned.
    """

    def __init__(
        self,
        streamlet: Buildable,
        project: Project,
        session: SparkSession,
        directory: Path,
        watch: Watch,
        places: Places,
        signals: Signals,
        longest_build: float,
    ) -> None:
        self._streamlet = streamlet
        self._plan = streamlet.plan
        self._project = project
        self._watch = watch
        self._places = places
        self._signals = signals
        self._longest_build = longest_build
        self._ports = EmptyPorts(self._plan, session, directory, watch, places, streamlet.channels)
        self._context = SparkStreamletContext(
            session=session,
            streamlet_ref=self._plan.ref,
            config=self._plan.parameters,
            volume_mounts={name: Path(mount) for name, mount in self._plan.volume_mounts.items()},
            ports=self._ports,
            directory=Path(self._plan.directory),
        )
        self._in_sql = False
        self.queries: dict[str, BuiltQuery] | None = None
        """The queries by name, after `findings` has built the logic."""
        self.built: BuiltStreamlet | None = None
        """The queries with their rows, after `findings` has built the logic."""

    def findings(self) -> tuple[Diagnostic, ...]:
        """Return the findings of the streamlet's logic, whatever it raises; an error hides the ones after it.

        Raises:
            KeyboardInterrupt: the user has pressed Ctrl-C.
        """
        findings: list[Diagnostic] = []
        try:
            findings.extend(self._findings())
        except BaseException as error:  # noqa: BLE001 - of Spark, or a bug in Streamlets; the others are checked, too
            self._signals.raise_interrupt(error)
            findings.append(self._raised(error))
        return tuple(map(self._in_files, findings))

    def _in_files(self, found: Diagnostic) -> Diagnostic:
        labels = [self._in_blueprint(label) for label in found.secondary]
        primary = self._in_blueprint(found.primary) if found.primary is not None else None
        help = tuple(map(in_sql, found.help)) if self._in_sql else found.help
        return replace(found, primary=primary, secondary=tuple(labels), help=help)

    def _in_blueprint(self, label: Label) -> Label:
        """Return a label in the text of a config parameter as one in the file that sets the parameter."""
        key = parameter_of(label.span.file)
        if key is None:
            return label
        text = self._plan.texts.get(key)
        if text is None:  # it is the default of the parameter
            return replace(label, span=self._streamlet.place)
        return replace(label, span=text.in_file(label.span))

    def _findings(self) -> Iterator[Diagnostic]:
        self._watch.observations = observations = Observations()
        yield from condition_findings(self._plan, self._context.session, self._places)
        try:
            built = self._build()
        except BaseException as error:  # noqa: BLE001 - code of the author, which may even exit
            self._signals.raise_interrupt(error)
            yield from self._mismatches()
            yield from (
                self._started_queries(observations, ())
                if _is_consequence(error, observations)
                else (self._raised(error),)
            )
            return
        yield from self._mismatches()
        yield from self._started_queries(observations, built)
        queries = self._queries(built, observations)
        self.built = BuiltStreamlet(
            self._plan, tuple(queries), self._ports.frames, self._ports.directory_of, self._places,
            observations.statements, lambda span: self._in_blueprint(Label(span)).span,
        )  # fmt: skip
        yield from self._mixed_channels(built)
        of_queries = [item for query in queries for item in self._query_findings(query)]
        ours = {
            write.query for write in built if isinstance(write, StreamingWrite)
        }  # others have their own checkpoints
        self.queries = {query.name: self._built(query) for query in queries if query.name in ours}
        yield from of_queries
        yield from self._jobs(observations)
        if all(item.code != "real-time-plan" for item in of_queries):  # it reports Python functions, too
            yield from self._functions(observations)
        yield from self._unused_ports(built, queries)
        yield from self._rebuilt(built)

    def _build(self) -> Queries:
        """Build the logic of a new instance.

        Raises:
            BaseException: of the author's code.
        """
        streamlet = streamlet_of(self._plan, self._project)
        if not isinstance(streamlet, SparkStreamlet):
            raise StreamletError(f"`{self._plan.kind.name}` runs on Spark: derive the class from `SparkStreamlet`")
        self._in_sql = isinstance(streamlet, Sql)
        try:
            with self._signals.watching(), time_limit(self._longest_build):
                return streamlet.create_logic(self._context).build()  # type: ignore[return-value]
        except (RecursionError, TimeLimitError):
            abandon_call(self._context.session)
            raise

    def _raised(self, error: BaseException) -> Diagnostic:
        """Return the finding for an error.

        One without a place, such as a wrong result, gets the place of the method, or of the streamlet in the blueprint
        if the method is not the author's.
        """
        if answers(self._context.session):
            raised = build_error_finding(error, self._places)
        else:
            frames = self._places.of(error)
            raised = raised_finding(error, "the logic has ended Spark, or its process", frames)
        return raised if raised.primary is not None else replace(raised, primary=Label(self._method()))

    def _method(self) -> Span:
        """Return the place of the method that builds the logic, or of the streamlet in the blueprint."""
        with suppress(StreamletNotLoadedError):
            streamlet = streamlet_of(self._plan, self._project)
            method = getattr(getattr(streamlet, "Logic", None), "build_streaming_queries", None)
            if isinstance(method, FunctionType):
                code = method.__code__
                place = self._places.own(syntax.definition(code.co_filename, code.co_firstlineno, code.co_name))
                if place is not None:
                    return place.span
        return self._streamlet.place

    def _built(self, query: CheckedQuery) -> BuiltQuery:
        mode = query.facts.mode
        description = described(query.plan, mode, named=self._plan.settings.source_evolution)
        if description.operators:
            logic = logic_of(rows_of(query.writer), mode, self._plan, self._context.inlet_sources)
            description = replace(description, logic=logic)
        if self._streamlet.state and description.operators:
            inlets = tuple(Path(self._ports.directory_of(inlet)) for inlet in sorted(self._ports.read_inlets))
            checkpoint = Path(self._context.checkpoint_dir(f"{query.name}.sample"))
            state = sampled_state(rows_of(query.writer), query.plan, mode, inlets, checkpoint)
            if state is not None:
                description = replace(description, operators=tuple(operator.name for operator in state), state=state)
        return BuiltQuery(description, span_of(query.place))

    def _query_findings(self, query: CheckedQuery) -> Iterator[Diagnostic]:
        """Yield the findings of a query; what Spark raises when it is asked about the plan is one of them."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield from query_findings(query, self._streamlet, self._inlets_of(query), self._ports.inlets, self._places)
        except (Py4JError, PySparkException) as error:
            refused = build_error_finding(error, self._places)
            yield replace(refused, primary=Label(span_of(query.place) or self._method()))

    def _inlets_of(self, query: CheckedQuery) -> tuple[InletPlan, ...]:
        """Return the inlets whose records a query uses."""
        leaves = [node.rest for node in query.plan.all() if not node.children]
        return tuple(
            inlet for inlet in self._plan.inlets
            if any(f"[{self._ports.directory_of(inlet.name)}]" in leaf for leaf in leaves)
        )  # fmt: skip

    def _queries(self, built: Queries, observations: Observations) -> list[CheckedQuery]:
        own = self._places.own
        queries = [
            CheckedQuery(write.query, write.writer, not write.outlets, write.trigger, own(write.place))
            for write in built
            if isinstance(write, StreamingWrite)
        ]
        for query in observations.started:
            name = query.name or facts(query.writer).options.get("queryname", "")
            queries.append(CheckedQuery(name, query.writer, True, None, own(query.place)))
        return queries

    def _mismatches(self) -> Iterator[Diagnostic]:
        for mismatch in self._ports.mismatches:
            help = self._intended_outlet(mismatch)
            yield mismatch_finding(mismatch, self._port(mismatch.outlet.name, self._plan.descriptor.outlets), help)

    def _intended_outlet(self, mismatch: Mismatch) -> str:
        """Return the help for rows that are written to the wrong outlet; "" if the rows may be wrong instead."""
        from streamlets.contract.match import misfits

        outlet, rows = mismatch.outlet, self._ports.rows
        for other in mismatch.fitting:
            if other in rows and not misfits(rows[other], outlet.contract, extra=outlet.extra):
                return f"swap the outlets `{outlet.name}` and `{other}`"
        unwritten = [other for other in mismatch.fitting if other not in rows]
        return f"write the rows to {alternatives(unwritten)}" if unwritten else ""

    def _started_queries(self, observations: Observations, built: Queries) -> Iterator[Diagnostic]:
        """Yield the findings for queries that the author starts; queries that are not returned are not supervised."""
        for query in observations.started:
            place = query.place
            if not any(query is other for other in built):
                yield finding(
                    "query-lost",
                    "a query is started but not returned by `build_streaming_queries`, so it is not supervised",
                    span_of(place),
                    help=('return `self.query("name", df.writeStream...)`, without `.start()`: the runner starts it',),
                )
                continue
            has_checkpoint = "checkpointlocation" in facts(query.writer).options
            yield finding(
                "query-started",
                "the logic starts a query itself, so the runner can only restart the whole streamlet",
                span_of(place),
                causes=() if has_checkpoint else ("it has no checkpoint, so each restart starts from scratch",),
                help=('return `self.query("name", df.writeStream...)`, without `.start()`: the runner starts it',),
                severity=Severity.NOTE if has_checkpoint else None,
            )

    def _mixed_channels(self, built: Queries) -> Iterator[Diagnostic]:
        """Yield the findings for queries that write to topics on several channels."""
        known = self._streamlet.channels
        for write in (query for query in built if isinstance(query, StreamingWrite)):
            topics = {plan.topic: known.get(plan.topic) for plan in self._plan.outlets if plan.name in write.outlets}
            if len({channel for channel in topics.values() if channel}) > 1:
                yield finding(
                    "query-channels",
                    f"the query `{write.query}` writes to topics on several channels",
                    span_of(self._places.own(write.place)),
                    causes=[f"the channel of `{topic}` is `{channel}`" for topic, channel in topics.items() if channel],
                    help=("write each outlet in a query of its own with `write_stream`, or set one channel for all",),
                )

    def _jobs(self, observations: Observations) -> Iterator[Diagnostic]:
        for name, place in dict.fromkeys(observations.actions):
            yield finding(
                "action-in-logic",
                f"`{name}` runs a Spark job each time the logic is built, also at each restart",
                span_of(place),
                help=("join with the DataFrame instead, or use a config parameter for a fixed value",),
                severity=Severity.WARNING,
            )

    def _functions(self, observations: Observations) -> Iterator[Diagnostic]:
        names: set[str] = set()
        for call in observations.functions:
            if call.function not in names:
                names.add(call.function)
                yield finding(
                    "python-udf",
                    f"`{call.function}` runs in Python for each record",
                    span_of(call.place),
                    help=("use Spark's own functions, which are many times faster, or else a `pandas_udf`",),
                )

    def _unused_ports(self, built: Queries, queries: list[CheckedQuery]) -> Iterator[Diagnostic]:
        if not queries:
            yield finding(
                "no-queries",
                "the logic returns no queries, so the streamlet does nothing",
                self._plan.descriptor.declared,
                help=("return the result of `write_stream`, `write_streams` or `query`",),
            )
            return
        yield from unwritten_outlets(self._plan, built)
        used = {inlet.name for query in queries for inlet in self._inlets_of(query)}
        yield from unused_inlets(self._plan.descriptor, used, self._ports.read_inlets)

    def _rebuilt(self, built: Queries) -> Iterator[Diagnostic]:
        """Yield a finding unless building the logic again, as a restart does, returns the same queries."""
        self._ports.again = True
        try:
            again = self._build()
        except BaseException as error:  # noqa: BLE001 - as above
            self._signals.raise_interrupt(error)
            raised = build_error_finding(error, self._places)
            yield finding(
                "logic-impure", "the logic fails when it is built again, as at a restart", raised.primary,
                also=raised.secondary, causes=(raised.headline,), help=raised.help,
            )  # fmt: skip
            return
        before, after = _names(built), _names(again)
        if before != after:
            write = next((query for query in built if isinstance(query, StreamingWrite)), None)
            place = self._places.own(write.place) if write else None
            at = (place and (syntax.argument(place, 4, "name") or syntax.argument(place, 0, "name"))) or place
            yield finding(
                "logic-impure",
                "the logic returns queries with other names when it is built again, so a restart starts from scratch",
                span_of(at),
                causes=(f"first {_quoted(before)}, then {_quoted(after)}",),
                help=("derive the names from what does not change: the streamlet's parameters and ports",),
            )

    def _port(self, name: str, ports: tuple[PortDescriptor, ...]) -> PortDescriptor:
        return next(port for port in ports if port.name == name)


def _is_consequence(error: BaseException, observations: Observations) -> bool:
    """Return whether a wrong result follows from the author's starting a query instead of returning it."""
    return isinstance(error, StreamletError) and error.code == "logic-result" and bool(observations.started)


def _names(built: Queries) -> list[str]:
    return [query.query if isinstance(query, StreamingWrite) else query.name or "" for query in built]


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
