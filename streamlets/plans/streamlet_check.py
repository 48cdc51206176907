"""Builds the logic of one streamlet and checks what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from blueprint.catalog import PortDescriptor
from blueprint.comparison.descriptor import BuiltQuery
from blueprint.diagnostics import Diagnostic, Label, Severity, finding
from blueprint.logic import Buildable
from blueprint.spelling import alternatives, listing
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.plans import pinpoint
from streamlets.plans.empty import EmptyPorts, Mismatch
from streamlets.plans.places import Places, span_of
from streamlets.plans.queries import CheckedQuery, query_findings
from streamlets.plans.raised import finding_of
from streamlets.plans.sampling import sampled_state
from streamlets.plans.standin import StreamingQuery
from streamlets.plans.watching import Seen, Watch
from streamlets.project.loading import streamlet_of
from streamlets.project.modules import Project
from streamlets.spark.plan_queries import described
from streamlets.spark.stream_writer import facts, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamlets.api.streamlet import SparkStreamlet

Queries = tuple["StreamingWrite | StreamingQuery", ...]


class StreamletCheck:
    """The check of one streamlet.

    Arguments:
        session: the streamlet's own, and the active one.
        folder: for empty streams and what else is temporary.
    """

    def __init__(
        self, streamlet: Buildable, project: Project, session: SparkSession, folder: Path, watch: Watch, places: Places
    ) -> None:
        self._streamlet = streamlet
        self._plan = streamlet.plan
        self._project = project
        self._watch = watch
        self._places = places
        self._ports = EmptyPorts(self._plan, session, folder, watch, places)
        self._context = SparkStreamletContext(
            session=session,
            streamlet_ref=self._plan.ref,
            config=self._plan.parameters,
            volume_mounts={name: Path(mount) for name, mount in self._plan.volume_mounts.items()},
            ports=self._ports,
            folder=Path(self._plan.folder),
        )
        self.queries: dict[str, BuiltQuery] | None = None
        """The queries by name once the logic was built, which `findings` does."""

    def findings(self) -> Iterator[Diagnostic]:
        """All that is wrong with the streamlet's logic; what raises hides what would have come after it."""
        streamlet = streamlet_of(self._plan.class_name, self._project)
        self._watch.seen = seen = Seen()
        try:
            given: Queries = streamlet.create_logic(self._context).build()  # type: ignore[assignment]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is the author's code, and may even exit
            yield from self._mismatches()
            yield from self._lost(seen, ()) if _is_consequence(error, seen) else (self._raised(error, streamlet),)
            return
        yield from self._mismatches()
        yield from self._lost(seen, given)
        queries = self._queries(given, seen)
        told = [found for query in queries for found in query_findings(query, self._streamlet, self._places)]
        ours = {write.query for write in given if isinstance(write, StreamingWrite)}  # others: own checkpoints
        self.queries = {query.name: self._built(query) for query in queries if query.name in ours}
        yield from told
        yield from self._jobs(seen)
        if all(found.code != "real-time-plan" for found in told):  # there, Python functions are told as what is refused
            yield from self._functions(seen)
        yield from self._ports_left_out(streamlet, given, queries)
        yield from self._again(given)

    def _raised(self, error: BaseException, streamlet: SparkStreamlet) -> Diagnostic:
        """What the logic raised; what it gives wrongly has no place but the method that gives it."""
        found = finding_of(error, self._places)
        method = getattr(getattr(streamlet, "Logic", None), "build_streaming_queries", None)
        if found.primary is not None or not isinstance(method, FunctionType):
            return found
        code = method.__code__
        place = pinpoint.definition(code.co_filename, code.co_firstlineno, code.co_name)
        return replace(found, primary=Label(place.span)) if self._places.own(place) and place else found

    def _built(self, query: CheckedQuery) -> BuiltQuery:
        mode = query.told.mode
        found = described(query.plan, mode, named=self._plan.source_evolution)
        if self._streamlet.state and found.operators:
            inlets = tuple(Path(self._ports.folder_of(inlet)) for inlet in sorted(self._ports.read_inlets))
            checkpoint = Path(self._context.checkpoint_dir(f"{query.name}.sample"))
            state = sampled_state(rows_of(query.writer), query.plan, mode, inlets, checkpoint)
            if state is not None:
                found = replace(found, operators=tuple(operator.name for operator in state), state=state)
        return BuiltQuery(found, span_of(query.place))

    def _queries(self, given: Queries, seen: Seen) -> list[CheckedQuery]:
        own = self._places.own
        queries = [
            CheckedQuery(write.query, write.writer, not write.outlets, write.trigger, own(write.place))
            for write in given
            if isinstance(write, StreamingWrite)
        ]
        for each in seen.started:
            name = each.name or facts(each.writer).options.get("queryname", "")
            queries.append(CheckedQuery(name, each.writer, True, None, own(each.place)))
        return queries

    def _mismatches(self) -> Iterator[Diagnostic]:
        for each in self._ports.mismatches:
            help = self._intended_outlet(each)
            yield _mismatch(each, self._port(each.outlet.name, self._plan.descriptor.outlets), help)

    def _intended_outlet(self, mismatch: Mismatch) -> str:
        """Return the help for rows that are written to the wrong outlet; "" if the rows may be wrong instead."""
        from streamlets.contract.match import misfits

        outlet, rows = mismatch.outlet, self._ports.rows
        for other in mismatch.fitting:
            if other in rows and not misfits(rows[other], outlet.contract, extra=outlet.extra):
                return f"swap the outlets `{outlet.name}` and `{other}`"
        unwritten = [other for other in mismatch.fitting if other not in rows]
        return f"write the rows to {alternatives(unwritten)}" if unwritten else ""

    def _lost(self, seen: Seen, given: Queries) -> Iterator[Diagnostic]:
        """Queries that the author starts: nobody watches those that are not returned."""
        for query in seen.started:
            place = query.place
            if not any(query is each for each in given):
                yield finding(
                    "query-lost",
                    "a query is started and not returned by `build_streaming_queries`, so nobody watches it",
                    span_of(place),
                    help=('return `self.query("name", df.writeStream...)`, without `.start()`: the runner starts it',),
                )
                continue
            kept = "checkpointlocation" in facts(query.writer).options
            yield finding(
                "query-started",
                "the logic starts a query itself, so the runner can restart it only with the whole streamlet",
                span_of(place),
                causes=() if kept else ("it has no checkpoint, so each restart begins anew",),
                help=('return `self.query("name", df.writeStream...)`, without `.start()`: the runner starts it',),
                severity=Severity.NOTE if kept else None,
            )

    def _jobs(self, seen: Seen) -> Iterator[Diagnostic]:
        for name, place in dict.fromkeys(seen.actions):
            yield finding(
                "action-in-logic",
                f"`{name}` runs a job each time the logic is built, at every restart",
                span_of(place),
                help=("join with the frame instead, or take what is fixed as a config parameter",),
                severity=Severity.WARNING,
            )

    def _functions(self, seen: Seen) -> Iterator[Diagnostic]:
        told: set[str] = set()
        for call in seen.functions:
            if call.function not in told:
                told.add(call.function)
                yield finding(
                    "python-udf",
                    f"`{call.function}` runs in Python for each record",
                    span_of(call.place),
                    help=("Spark's own functions are many times faster; where there is none, take a `pandas_udf`",),
                )

    def _ports_left_out(
        self, streamlet: SparkStreamlet, given: Queries, queries: list[CheckedQuery]
    ) -> Iterator[Diagnostic]:
        if not queries:
            yield finding(
                "no-queries",
                "its logic gives no query, so it does nothing",
                self._plan.descriptor.declared,
                help=("return what `write_stream`, `write_streams` or `query` gives",),
            )
            return
        written = {name for write in given if isinstance(write, StreamingWrite) for name in write.outlets}
        for outlet in self._plan.descriptor.outlets:
            if outlet.name not in written:
                yield finding(
                    "outlet-unwritten",
                    f"no query writes the outlet `{outlet.name}`",
                    outlet.declared,
                    help=(f"write it with `self.write_stream(df, self.streamlet.{outlet.attribute})`, or take it out",),
                )
        used = {node.rest for query in queries for node in query.plan.all() if not node.children}
        for inlet in self._plan.descriptor.inlets:
            if any(f"[{self._ports.folder_of(inlet.name)}]" in leaf for leaf in used):
                continue
            read = inlet.name in self._ports.read_inlets
            yield finding(
                "inlet-unread",
                f"the inlet `{inlet.name}` is {'read, and no query uses its records' if read else 'never read'}",
                inlet.declared,
                help=("use what `read_stream` gives in a query, or take the inlet out of the class",)
                if read
                else (f"read it with `self.read_stream(self.streamlet.{inlet.attribute})`, or take it out",),
            )

    def _again(self, given: Queries) -> Iterator[Diagnostic]:
        """Building once more, as a restart does, gives the same."""
        self._ports.again = True
        try:
            again = streamlet_of(self._plan.class_name, self._project).create_logic(self._context).build()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            raised = finding_of(error, self._places)
            yield finding(
                "logic-impure", "its logic fails when it is built a second time, as at a restart", raised.primary,
                also=raised.secondary, causes=(raised.headline,), help=raised.help,
            )  # fmt: skip
            return
        before, after = _names(given), _names(again)  # type: ignore[arg-type]
        if before != after:
            write = next((each for each in given if isinstance(each, StreamingWrite)), None)
            place = self._places.own(write.place) if write else None
            at = (place and (pinpoint.argument(place, 4, "name") or pinpoint.argument(place, 0, "name"))) or place
            yield finding(
                "logic-impure",
                "its logic gives queries of other names when it is built again: a restart begins anew",
                span_of(at),
                causes=(f"first {_quoted(before)}, then {_quoted(after)}",),
                help=("make the names of what stays the same: the streamlet's parameters and ports",),
            )

    def _port(self, name: str, ports: tuple[PortDescriptor, ...]) -> PortDescriptor:
        return next(port for port in ports if port.name == name)


def _mismatch(found: Mismatch, outlet: PortDescriptor, intended: str) -> Diagnostic:
    misfits = found.misfits
    names = [f"`{misfit.path}`" for misfit in misfits if misfit.path]
    more = f" and {len(misfits) - 1} more" if len(misfits) > 1 else ""
    fields = {field.name: field.span for field in found.outlet.contract.record.fields}
    also = [Label(outlet.declared, f"the outlet `{outlet.name}` is declared here")]
    for misfit in misfits:
        span = fields.get(misfit.path.partition(".")[0])
        if span is not None and span != outlet.declared:
            also.append(Label(span, f"`{misfit.path}` in its schema"))
    place = found.place
    if place is not None:
        part = pinpoint.entry(place, 1, "outlets", outlet.attribute or "") if found.several else None
        place = part or pinpoint.argument(place, 0, "df") or place
    causes = [f"`{misfit.path}`: {misfit.reason}" if misfit.path else misfit.reason for misfit in misfits]
    if found.fitting:
        causes.insert(0, f"the rows fit the outlet{'s' if len(found.fitting) > 1 else ''} {listing(found.fitting)}")
    about = f": field {names[0]}{more}" if names else ""
    return finding(
        "outlet-schema",
        f"the rows for the outlet `{outlet.name}` do not fit its schema{about}",
        span_of(place),
        also=also,
        causes=causes,
        help=(intended,) if intended else dict.fromkeys(misfit.remedy for misfit in misfits if misfit.remedy),
    )


def _is_consequence(error: BaseException, seen: Seen) -> bool:
    """Whether nothing sensible was returned only because the author started the query instead."""
    return isinstance(error, StreamletError) and error.code == "logic-result" and bool(seen.started)


def _names(given: Queries) -> list[str]:
    return [each.query if isinstance(each, StreamingWrite) else each.name or "" for each in given]


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
