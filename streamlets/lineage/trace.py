"""Traces of a column through an application: where it comes from, and who uses it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamlets.lineage.application import ApplicationLineage, column_at, related
from streamlets.lineage.kinds import Kind
from streamlets.lineage.model import ColumnLineage, ColumnPath, OutputLineage
from streamlets.lineage.values import Influence

if TYPE_CHECKING:
    from blueprint.diagnostics import Span
    from blueprint.plan import InletPlan, OutletPlan, StreamletPlan
    from streamlets.lineage.targets import Target


_AGAIN = "see above"


@dataclass(frozen=True, slots=True)
class Step:
    """A column in a trace, with the steps that follow it.

    Arguments:
        name: the column, such as `orders.amount`; or what is not a column of a topic, in words.
        kind: how the column before it depends on it or, downstream, how it depends on the column before it; None for
            the first one, and for what is not a column.
        streamlet: the streamlet in which this dependency is; "" for none.
        type: its type in the contract of the topic; "" if it is not known.
        place: where the dependency is in the code.
        decides: whether it decides about whole records.
        note: what is to be known of it, such as why nothing more is known.
        steps: the next columns.
    """

    name: str
    kind: Kind | None = None
    streamlet: str = ""
    type: str = ""
    place: Span | None = field(default=None, compare=False)
    decides: bool = False
    note: str = ""
    steps: tuple[Step, ...] = ()


class Tracer:
    """Follows columns through an application.

    Arguments:
        lineage: the lineage of the application.
        depth: the number of streamlets that are passed at most; None for all.
    """

    def __init__(self, lineage: ApplicationLineage, depth: int | None = None) -> None:
        self._lineage = lineage
        self._depth: float = math.inf if depth is None else depth
        self._followed: dict[tuple[str, ColumnPath], float] = {}

    def type(self, target: Target) -> str:
        """Return the type of a column; "" if its contract does not have it."""
        return self._lineage.type(target.topic, target.path) if target.query is None else ""

    def origins(self, target: Target) -> tuple[Step, ...]:
        """Return the columns from which a column comes."""
        if target.query is None:
            return self.up(target.topic, target.path, target.writers)
        self._followed = {}
        ref, query = target.query
        streamlet = self._lineage.plan.streamlet(ref)
        return tuple(
            step
            for output in self._lineage.streamlets[ref].outputs
            if output.query == query and not output.outlet
            for step in self.inputs_of(streamlet, output, target.path, self._depth - 1)
        )

    def users(self, target: Target) -> tuple[Step, ...]:
        """Return the users of a column: the columns that depend on it, or the sink to which a query writes it."""
        if target.query is None:
            return self.down(target.topic, target.path)
        ref, query = target.query
        outputs = (own for own in self._lineage.streamlets[ref].outputs if own.query == query and not own.outlet)
        return tuple(Step(f"the sink of `{ref}`", note=own.sink, streamlet=ref, place=own.place) for own in outputs)

    def up(self, topic: str, path: ColumnPath, writers: Iterable[str] | None = None) -> tuple[Step, ...]:
        """Return the columns from which a column of a topic comes.

        Arguments:
            topic: the topic.
            path: the column.
            writers: the streamlets whose records are meant; None for all that write the topic.
        """
        self._followed = {(topic, path): self._depth}
        return tuple(self._up(topic, path, self._depth, writers))

    def down(self, topic: str, path: ColumnPath) -> tuple[Step, ...]:
        """Return the columns that depend on a column of a topic."""
        self._followed = {(topic, path): self._depth}
        return tuple(self._down(topic, path, self._depth))

    def inputs_of(
        self, streamlet: StreamletPlan, output: OutputLineage, path: ColumnPath, left: float
    ) -> Iterator[Step]:  # fmt: skip
        """Yield the columns from which a column of an output comes."""
        column = column_at(output, path)
        if column is None:
            return
        for influence in sorted(column.inputs, key=lambda each: each.order):
            yield self._input(streamlet, influence, column.place, left, decides=False)
        for influence in sorted(output.rows, key=lambda each: each.order):
            yield self._input(streamlet, influence, output.place_of(influence), left, decides=True)
        if not column.inputs:
            origin = "a constant, or a count of records" if column.written else "the default of the contract"
            yield Step(origin, streamlet=streamlet.ref, place=column.place)
        for reason in (*column.unknown, *output.unknown):
            yield Step("not known", streamlet=streamlet.ref, place=column.place, note=reason)

    def _up(
        self, topic: str, path: ColumnPath, left: float, writers: Iterable[str] | None = None
    ) -> Iterator[Step]:  # fmt: skip
        if left < 1:
            return
        found = False
        for streamlet, outlet in self._lineage.writers(topic):
            found = True
            if writers is None or streamlet.ref in writers:
                yield from self._written(streamlet, outlet, path, left)
        if not found:
            letters = [own.ref for own in self._lineage.plan.streamlets if own.dead_letters == topic]
            note = f"records that `{'`, `'.join(letters)}` rejects" if letters else "no streamlet writes it"
            yield Step(f"the topic `{topic}`", note=note)

    def _written(
        self, streamlet: StreamletPlan, outlet: OutletPlan, path: ColumnPath, left: float
    ) -> Iterator[Step]:  # fmt: skip
        if reason := unfollowed(self._lineage, streamlet):
            yield Step(f"the streamlet `{streamlet.ref}`", streamlet=streamlet.ref, place=streamlet.descriptor.declared,
                       note=reason)  # fmt: skip
            return
        for output in self._lineage.outputs(streamlet.ref, outlet.name):
            yield from self.inputs_of(streamlet, output, path, left)

    def _input(
        self, streamlet: StreamletPlan, influence: Influence, place: Span | None, left: float,
        *, decides: bool,
    ) -> Step:  # fmt: skip
        kind, ref = influence.kind, streamlet.ref
        inlet = next((own for own in streamlet.inlets if own.name == influence.source.inlet), None)
        if inlet is None:
            name = f"{'.'.join(influence.path)} in {influence.source.external}"
            return Step(name, kind, ref, place=place, decides=decides, note="outside of the application")
        path = self._lineage.path_in_topic(inlet, influence.path)
        if path is None:
            name = f"{inlet.topic}.{'.'.join(influence.path)}"
            metadata = influence.path[0].startswith("_")
            note = "metadata of the record" if metadata else "the default of the reader's contract"
            return Step(name, kind, ref, place=place, decides=decides, note=note)
        node = (inlet.topic, path)
        again = kind.direct and not self._is_new(node, left)
        return Step(
            f"{inlet.topic}.{'.'.join(path)}", kind, ref, self._lineage.type(*node), place, decides,
            _AGAIN if again else "", () if again or not kind.direct else tuple(self._up(*node, left - 1)),
        )  # fmt: skip

    def _is_new(self, node: tuple[str, ColumnPath], left: float) -> bool:
        """Return whether a column is to be followed: each is once, so that a trace stays small and ends in a cycle.

        Arguments:
            node: the topic and the column.
            left: the number of streamlets that may be passed before it.
        """
        if self._followed.get(node, 0) >= left:
            return False
        self._followed[node] = left
        return True

    def _down(self, topic: str, path: ColumnPath, left: float) -> Iterator[Step]:
        if left < 1:
            return
        for streamlet, inlet in self._lineage.readers(topic):
            if reason := unfollowed(self._lineage, streamlet):
                yield Step(f"the streamlet `{streamlet.ref}`", streamlet=streamlet.ref,
                           place=streamlet.descriptor.declared, note=reason)  # fmt: skip
                continue
            outputs = self._lineage.streamlets[streamlet.ref].outputs
            uses = [step for output in outputs for step in self._uses(streamlet, inlet, output, path, left)]
            yield from uses

    def _uses(
        self, streamlet: StreamletPlan, inlet: InletPlan, output: OutputLineage, path: ColumnPath,
        left: float,
    ) -> Iterator[Step]:  # fmt: skip
        outlet = next((own for own in streamlet.outlets if own.name == output.outlet), None)
        target = outlet.topic if outlet is not None else f"the sink of `{streamlet.ref}`"
        sink = f"{output.sink}" if outlet is None else ""
        for column, lineage in _columns(output):
            for influence in sorted(lineage.inputs, key=lambda each: each.order):
                if not self._is_of(influence, inlet, path):
                    continue
                node = (target, column)
                follows = outlet is not None and influence.kind.direct
                again = follows and not self._is_new(node, left)
                name = ".".join(column) if outlet is not None else f"{'.'.join(column)} in {target}"
                yield Step(
                    f"{target}.{name}" if outlet is not None else name, influence.kind, streamlet.ref,
                    self._lineage.type(*node) if outlet is not None else "", lineage.place, False,
                    _AGAIN if again else sink, tuple(self._down(*node, left - 1)) if follows and not again else (),
                )  # fmt: skip
        for influence in sorted(output.rows, key=lambda each: each.order):
            if self._is_of(influence, inlet, path):
                name = f"the records of `{target}`" if outlet is not None else target
                place = output.place_of(influence)
                yield Step(name, influence.kind, streamlet.ref, place=place, decides=True, note=sink)
        for reason in output.unknown:
            yield Step("not known", streamlet=streamlet.ref, place=output.place, note=reason)

    def _is_of(self, influence: Influence, inlet: InletPlan, path: ColumnPath) -> bool:
        if influence.source.inlet != inlet.name:
            return False
        found = self._lineage.path_in_topic(inlet, influence.path)
        return found is not None and related(found, path)


def _columns(output: OutputLineage) -> Iterator[tuple[ColumnPath, ColumnLineage]]:
    """Yield the columns of an output, and nested fields instead of the column if they are known apart."""
    for path, column in output.columns.items():
        if not any(len(other) > len(path) and other[: len(path)] == path for other in output.columns):
            yield path, column


def unfollowed(lineage: ApplicationLineage, streamlet: StreamletPlan) -> str:
    """Return why the columns of a streamlet are not followed to its inputs; "" if they are."""
    if streamlet.tasks is not None:
        return "a batch source: its records come from outside of the application"
    if not streamlet.kind.on_spark:
        return f"{streamlet.kind.name}: its records come from outside of the application"
    if streamlet.ref not in lineage.streamlets:
        return "its logic could not be built: run `flow verify --plans`"
    return lineage.streamlets[streamlet.ref].unknown
