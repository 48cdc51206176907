"""Findings about the ports of a streamlet: rows that do not match an outlet, and ports that no query uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from blueprint.catalog import PortDescriptor, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.plan import StreamletPlan
from blueprint.spelling import listing
from blueprint.sql.job import table_name
from blueprint.sql.literals import name_text
from streamlets.api.context import StreamingWrite
from streamlets.plans import syntax
from streamlets.plans.empty_ports import Mismatch
from streamlets.plans.places import span_of


def unwritten_outlets(plan: StreamletPlan, built: Iterable[object]) -> Iterator[Diagnostic]:
    """Yield a finding for each outlet that no query writes, and that gets no records which leave a cycle.

    Arguments:
        plan: the streamlet.
        built: the queries that its logic has returned.
    """
    written = {name for write in built if isinstance(write, StreamingWrite) for name in write.outlets}
    written |= {outlet.returns.otherwise or "" for outlet in plan.outlets if outlet.returns and outlet.name in written}
    for outlet in plan.descriptor.outlets:
        if outlet.name not in written:
            yield finding(
                "outlet-unwritten",
                f"no query writes the outlet `{outlet.name}`",
                outlet.declared,
                help=(_how_to_write(outlet),),
            )


def unused_inlets(
    descriptor: StreamletDescriptor, used: Collection[str], read: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a finding for each inlet whose records no query uses.

    Arguments:
        descriptor: the streamlet.
        used: the names of the inlets that queries use.
        read: the names of the inlets that the logic has read.
    """
    for inlet in descriptor.inlets:
        if inlet.name in used:
            continue
        is_read = inlet.name in read and inlet.attribute is not None
        yield finding(
            "inlet-unread",
            f"the inlet `{inlet.name}` is {'read, but no query uses its records' if is_read else 'never read'}",
            inlet.declared,
            help=(_how_to_read(inlet, is_read=is_read),),
        )


def mismatch_finding(mismatch: Mismatch, outlet: PortDescriptor, intended: str) -> Diagnostic:
    """Return the finding for rows that do not match the schema of an outlet.

    Arguments:
        mismatch: the rows and the outlet.
        outlet: the outlet, as its class declares it.
        intended: the help if the rows are for another outlet; "" if they may be wrong instead.
    """
    misfits = mismatch.misfits
    names = [f"`{misfit.path}`" for misfit in misfits if misfit.path]
    more = f" and {len(misfits) - 1} more" if len(misfits) > 1 else ""
    fields = {field.name: field.span for field in mismatch.outlet.contract.record.fields}
    also = [Label(outlet.declared, f"the outlet `{outlet.name}` is declared here")]
    for misfit in misfits:
        span = fields.get(misfit.path.partition(".")[0])
        if span is not None and span != outlet.declared:
            also.append(Label(span, f"`{misfit.path}` in its schema"))
    place = mismatch.place
    if place is not None:
        part = syntax.entry(place, 1, "outlets", outlet.attribute or "") if mismatch.several else None
        place = part or syntax.argument(place, 0, "df") or place
    causes = [f"`{misfit.path}`: {misfit.reason}" if misfit.path else misfit.reason for misfit in misfits]
    if mismatch.fitting:
        causes.insert(
            0, f"the rows match the outlet{'s' if len(mismatch.fitting) > 1 else ''} {listing(mismatch.fitting)}"
        )
    fields_text = f": field {names[0]}{more}" if names else ""
    return finding(
        "outlet-schema",
        f"the rows for the outlet `{outlet.name}` do not match its schema{fields_text}",
        span_of(place),
        also=also,
        causes=causes,
        help=(intended,) if intended else dict.fromkeys(misfit.remedy for misfit in misfits if misfit.remedy),
    )


def _how_to_write(outlet: PortDescriptor) -> str:
    if outlet.attribute is None:  # of SQL
        return f"save a stream to it with `SAVE STREAM ... TO {name_text(table_name(outlet.name))}`, or remove it"
    return f"write it with `self.write_stream(df, self.streamlet.{outlet.attribute})`, or remove it"


def _how_to_read(inlet: PortDescriptor, *, is_read: bool) -> str:
    if inlet.attribute is None:  # of SQL, where an inlet is a table that is always defined
        return f"select from the table `{table_name(inlet.name)}`, or remove it"
    if is_read:
        return "use the result of `read_stream` in a query, or remove the inlet from the class"
    return f"read it with `self.read_stream(self.streamlet.{inlet.attribute})`, or remove it"
