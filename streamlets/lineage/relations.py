"""From which columns the columns and the rows of a plan come, node by node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamlets.lineage.expressions import ExpressionLineage, is_same_type
from streamlets.lineage.kinds import Kind
from streamlets.lineage.values import CONSTANT, NONE, Influence, Influences, Value, combined, merged
from streamlets.spark.plan_json import Expression, PlanPart, expressions_in, part_of

_UNCHANGED = frozenset(
    {"SubqueryAlias", "View", "ResolvedHint", "UnresolvedHint", "Repartition", "RepartitionByExpression",
     "RebalancePartitions", "CollectMetrics", "LocalLimit", "GlobalLimit", "Limit", "Offset", "Tail", "Sample",
     "EventTimeWatermark", "UpdateEventTimeWatermarkColumn", "Subquery", "CTERelationDef"}
)  # fmt: skip
"""Nodes whose rows are rows of their input, or all of them, and whose columns are its columns."""

_FUNCTIONS = frozenset(
    {"MapInPandas", "PythonMapInArrow", "MapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow",
     "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow", "FlatMapGroupsInPandasWithState",
     "TransformWithStateInPySpark", "TransformWithStateInPandas"}
)  # fmt: skip
"""Nodes that call a Python function, which may use each of its arguments for each of its results."""

_KEYS = ("groupingAttributes", "leftAttributes", "rightAttributes", "leftGroupingAttributes", "rightGroupingAttributes")
_OUTPUTS = ("output", "outputAttrs")
_TIME_WINDOWS = ("window", "session_window")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation.

    Arguments:
        name: its name.
        number: Spark's number of it.
        value: where it comes from.
        defined: the expression that computes it; None for a column of a source.
    """

    name: str
    number: int
    value: Value
    defined: Expression | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """What decides about rows.

    Arguments:
        node: the node of the plan.
        condition: the expression in it; None if the node as a whole decides.
    """

    node: PlanPart
    condition: Expression | None = None


Decisions = Mapping[Influence, Decision]
"""The columns that decide which rows there are, each with the first decision that uses it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The result of a plan.

    Arguments:
        columns: its columns in their order.
        rows: the columns that decide which rows there are.
        unknown: the reasons why further columns may decide about the rows.
    """

    columns: tuple[Column, ...]
    rows: Decisions = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()

    @property
    def values(self) -> dict[int, Value]:
        """The values of the columns by Spark's numbers."""
        return {column.number: column.value for column in self.columns}


class PlanLineage:
    """Reads plans from their sources upwards.

    Arguments:
        leaf: returns the values of the columns of a source.
        outer: the columns of the query around a subquery.
    """

    def __init__(
        self, leaf: Callable[[PlanPart, Sequence[str]], Sequence[Value]], outer: Mapping[int, Value] | None = None
    ) -> None:
        self._leaf = leaf
        self._outer = dict(outer or {})

    def relation(self, part: PlanPart) -> Relation:
        """Return the result of a plan."""
        match part.name:
            case name if name in _UNCHANGED and len(part.children) == 1:
                return self._renumbered(part, self.relation(part.children[0]))
            case "Project":
                return self._project(part)
            case "Filter" if _is_made_for_window(part):
                return self.relation(part.children[0])
            case "Filter":
                return self._deciding(part, "condition", Kind.FILTER)
            case "Sort":
                return self._deciding(part, "order", Kind.SORT)
            case "Deduplicate" | "DeduplicateWithinWatermark":
                return self._deciding(part, "keys", Kind.GROUP_BY)
            case "Distinct":
                below = self.relation(part.children[0])
                keys = NONE.union(*(column.value.deciding(Kind.GROUP_BY) for column in below.columns))
                return replace(below, rows=_first(below.rows, _whole(part, keys)))
            case "Aggregate":
                return self._aggregate(part)
            case "Window":
                return self._appended(part, part.expressions("windowExpressions"))
            case "Generate":
                return self._generate(part)
            case "Join":
                return self._join(part)
            case "LateralJoin":
                return self._lateral_join(part)
            case "Union":
                return self._union(part)
            case "Except" | "Intersect":
                return self._set_operation(part)
            case "Expand":
                return self._expand(part)
            case name if name in _FUNCTIONS:
                return self._function(part)
            case _ if not part.children:
                return self._source(part)
        return self._unknown(part)

    def _expressions(self, *relations: Relation) -> ExpressionLineage:
        columns = dict(self._outer)
        for relation in relations:
            columns |= relation.values
        return ExpressionLineage(columns, self._subquery)

    def _subquery(self, expression: Expression, columns: Mapping[int, Value]) -> tuple[Value, Influences]:
        try:
            plan = part_of(expression.java().plan())
        except Exception as error:  # noqa: BLE001 - what Java raises depends on the plan
            reason = f"the plan of a subquery cannot be read ({type(error).__name__})"
            return Value(unknown=frozenset({reason})), NONE
        inner = PlanLineage(self._leaf, self._outer | dict(columns)).relation(plan)
        value = merged(column.value for column in inner.columns) if inner.columns else CONSTANT
        return replace(value, unknown=value.unknown | inner.unknown), frozenset(inner.rows)

    def _source(self, part: PlanPart) -> Relation:
        output = next((part.expressions(name) for name in _OUTPUTS if name in part.fields), [])
        names = [str(column.fields.get("name", "")) for column in output]
        values = self._leaf(part, names)
        return Relation(tuple(
            Column(name, -1 if column.id is None else column.id, value)
            for name, column, value in zip(names, output, values, strict=True)
        ))  # fmt: skip

    def _renumbered(self, part: PlanPart, below: Relation) -> Relation:
        """Return a relation with the numbers that a node gives its columns, as some views do."""
        output = part.expressions("output")
        if part.name != "View" or len(output) != len(below.columns):
            return below
        pairs = zip(below.columns, output, strict=True)
        return replace(below, columns=tuple(
            replace(column, number=column.number if own.id is None else own.id) for column, own in pairs
        ))  # fmt: skip

    def _project(self, part: PlanPart) -> Relation:
        own = part.expressions("projectList")
        child = part.children[0]
        if _defines_window(part) and _is_null_filter(child):
            child = child.children[0]
        below = self.relation(child)
        return replace(below, columns=self._defined(own, below))

    def _defined(self, expressions: Iterable[Expression], below: Relation) -> tuple[Column, ...]:
        lineage = self._expressions(below)
        known = {column.number: column for column in below.columns}
        columns = []
        for expression in expressions:
            number = -1 if expression.id is None else expression.id
            before = known.get(number) or known.get(_renamed(expression))
            defined = before.defined if before is not None and before.defined is not None else expression
            name = str(expression.fields.get("name", ""))
            columns.append(Column(name, number, lineage.value(expression), defined))
        return tuple(columns)

    def _deciding(self, part: PlanPart, field: str, kind: Kind) -> Relation:
        below = self.relation(part.children[0])
        lineage, conditions = self._expressions(below), part.expressions(field)
        rows = _first(below.rows, _decisions(part, lineage, conditions, kind))
        return replace(below, rows=rows, unknown=below.unknown | lineage.unknown(conditions))

    def _aggregate(self, part: PlanPart) -> Relation:
        below = self.relation(part.children[0])
        keys = part.expressions("groupingExpressions")
        rows = _first(below.rows, _decisions(part, self._expressions(below), keys, Kind.GROUP_BY))
        return Relation(self._defined(part.expressions("aggregateExpressions"), below), rows, below.unknown)

    def _appended(self, part: PlanPart, expressions: Iterable[Expression]) -> Relation:
        below = self.relation(part.children[0])
        return replace(below, columns=(*below.columns, *self._defined(expressions, below)))

    def _generate(self, part: PlanPart) -> Relation:
        below = self.relation(part.children[0])
        lineage = self._expressions(below)
        generator = part.expressions("generator")[0]
        output = part.expressions("generatorOutput")
        values = _generated(generator, [str(own.fields.get("name", "")) for own in output], lineage)
        added = tuple(
            Column(str(own.fields.get("name", "")), -1 if own.id is None else own.id, value, generator)
            for own, value in zip(output, values, strict=True)
        )
        # Rows without elements are omitted, and others are repeated.
        return replace(below, columns=(*below.columns, *added))

    def _join(self, part: PlanPart) -> Relation:
        left, right = (self.relation(child) for child in part.children)
        lineage, conditions = self._expressions(left, right), part.expressions("condition")
        rows = _first(left.rows, right.rows, _decisions(part, lineage, conditions, Kind.JOIN))
        columns = left.columns if _is_one_sided(part) else (*left.columns, *right.columns)
        return Relation(columns, rows, left.unknown | right.unknown | lineage.unknown(conditions))

    def _lateral_join(self, part: PlanPart) -> Relation:
        left = self.relation(part.children[0])
        query = part.expressions("right")[0]
        inner = PlanLineage(self._leaf, self._outer | left.values).relation(part_of(query.java().plan()))
        conditions = part.expressions("condition")
        own = _decisions(part, self._expressions(left, inner), conditions, Kind.JOIN)
        rows = _first(left.rows, inner.rows, own)
        return Relation((*left.columns, *inner.columns), rows, left.unknown | inner.unknown)

    def _union(self, part: PlanPart) -> Relation:
        inputs = [self.relation(child) for child in part.children]
        columns = tuple(
            replace(same[0], value=merged(column.value for column in same))
            for same in zip(*(each.columns for each in inputs), strict=True)
        )
        rows = _first(*(each.rows for each in inputs))
        return Relation(columns, rows, frozenset[str]().union(*(each.unknown for each in inputs)))

    def _set_operation(self, part: PlanPart) -> Relation:
        """Return the rows of the left side that the right side has, or has not: all columns are compared."""
        left, right = (self.relation(child) for child in part.children)
        columns = [*left.columns, *right.columns]
        compared = _whole(part, NONE.union(*(column.value.deciding(Kind.FILTER) for column in columns)))
        return Relation(left.columns, _first(left.rows, right.rows, compared), left.unknown | right.unknown)

    def _expand(self, part: PlanPart) -> Relation:
        below = self.relation(part.children[0])
        lineage = self._expressions(below)
        rows = [list(expressions_in(row)) for row in part.fields.get("projections") or ()]
        output = part.expressions("output")
        if not rows or any(len(row) != len(output) for row in rows):
            return self._unknown(part)
        columns = tuple(
            Column(str(own.fields.get("name", "")), -1 if own.id is None else own.id,
                   merged(lineage.value(row[index]) for row in rows))
            for index, own in enumerate(output)
        )  # fmt: skip
        return replace(below, columns=columns)

    def _function(self, part: PlanPart) -> Relation:
        """Return the result of a Python function: each column depends on all arguments."""
        inputs = [self.relation(child) for child in part.children]
        lineage = self._expressions(*inputs)
        functions = part.expressions("functionExpr") + part.expressions("func")
        arguments = [child for function in functions for child in function.children]
        keys = [key for name in _KEYS for key in part.expressions(name)]
        count = part.fields.get("groupingAttributesLen")
        deciding = lineage.deciding(keys, Kind.GROUP_BY)
        if isinstance(count, int):  # the first columns below are the keys
            deciding |= NONE.union(*(column.value.deciding(Kind.GROUP_BY) for column in inputs[0].columns[:count]))
        if len(inputs) > 1 or not arguments:  # the function gets all columns of both inputs
            values = [column.value for each in inputs for column in each.columns]
        else:
            values = [lineage.value(argument) for argument in arguments]
        result = combined(values, Kind.TRANSFORMATION)
        output = next((part.expressions(name) for name in _OUTPUTS if name in part.fields), [])
        return Relation(
            tuple(Column(str(own.fields.get("name", "")), -1 if own.id is None else own.id, result,
                         functions[0] if functions else None) for own in output),
            _first(*(each.rows for each in inputs), _whole(part, deciding)),
            frozenset[str]().union(*(each.unknown for each in inputs)),
        )  # fmt: skip

    def _unknown(self, part: PlanPart) -> Relation:
        """Return the result of a node that this version does not know: it says so, and does not guess."""
        inputs = [self.relation(child) for child in part.children]
        reason = frozenset({f"the operator `{part.name}` is not known"})
        known = {column.number: column for each in inputs for column in each.columns}
        output = next((part.expressions(name) for name in _OUTPUTS if name in part.fields), None)
        if output is None:
            columns = tuple(known.values())
        else:
            new = Column("", -1, Value(unknown=reason))
            columns = tuple(
                known.get(-1 if own.id is None else own.id)
                or replace(new, name=str(own.fields.get("name", "")), number=-1 if own.id is None else own.id)
                for own in output
            )
        marked = (
            replace(column, value=replace(column.value, unknown=column.value.unknown | reason)) for column in columns
        )
        return Relation(tuple(marked), _first(*(each.rows for each in inputs)), reason)


def _first(*decisions: Decisions) -> Decisions:
    """Return several decisions as one; the earlier ones win."""
    return {influence: decision for each in reversed(decisions) for influence, decision in each.items()}


def _whole(node: PlanPart, influences: Influences) -> Decisions:
    return dict.fromkeys(influences, Decision(node))


def _decisions(
    node: PlanPart, lineage: ExpressionLineage, conditions: Iterable[Expression], kind: Kind
) -> Decisions:  # fmt: skip
    """Return what the conditions of a node decide; each part of a conjunction is a condition."""
    return _first(*(
        dict.fromkeys(lineage.deciding([part], kind), Decision(node, part))
        for condition in conditions
        for part in _conjuncts(condition)
    ))  # fmt: skip


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if condition.name != "And":
        yield condition
        return
    for child in condition.children:
        yield from _conjuncts(child)


def _generated(generator: Expression, names: list[str], lineage: ExpressionLineage) -> list[Value]:
    """Return the values of the columns of a generator, such as `explode`."""
    inner = generator
    while inner.name in ("GeneratorOuter", "UserDefinedGenerator") and inner.children:
        inner = inner.children[0]
    if inner.name == "Stack":
        values = inner.children[1:]
        return [combined([lineage.value(value) for value in values[index :: len(names)]], Kind.TRANSFORMATION)
                for index in range(len(names))]  # fmt: skip
    value = lineage.value(inner)
    if inner.name == "Inline":
        parts = list(value.parts) or _fields_of_elements(inner.children[0])
        return [value.field(part) for part in parts] if len(parts) == len(names) else [value] * len(names)
    return [combined([value], Kind.TRANSFORMATION) for _ in names[1:]] + [value]


def _fields_of_elements(array: Expression) -> list[str]:
    """Return the names of the fields of the structs in an array; [] if its type is not in the plan."""
    kind = array.fields.get("dataType")
    element = kind.get("elementType") if isinstance(kind, dict) else None
    return [str(own["name"]) for own in element.get("fields", ())] if isinstance(element, dict) else []


def _renamed(expression: Expression) -> int:
    """Return the number of the column that an expression only renames; -2 if it does anything else."""
    while (expression.name == "Alias" and expression.children) or is_same_type(expression):
        expression = expression.children[0]
    return expression.id if expression.name == "AttributeReference" and expression.id is not None else -2


def _is_one_sided(part: PlanPart) -> bool:
    return re.search(r"LeftSemi|LeftAnti\$", str(part.fields)) is not None


def _is_made_for_window(part: PlanPart) -> bool:
    """Return whether Spark has added a filter above a time window: rows without a time are in none."""
    return _is_null_filter(part) and _defines_window(part.children[0])


def _is_null_filter(part: PlanPart) -> bool:
    conditions = part.expressions("condition") if part.name == "Filter" else []
    return len(conditions) == 1 and conditions[0].name == "IsNotNull"


def _defines_window(part: PlanPart) -> bool:
    own = part.expressions("projectList" if part.name == "Project" else "output")
    return part.name in ("Project", "Expand") and any(
        column.fields.get("name") in _TIME_WINDOWS
        and column.name == ("Alias" if part.name == "Project" else column.name)
        for column in own
    )
