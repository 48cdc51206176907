"""From which columns the value of an expression of Spark comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from streamlets.lineage.kinds import Kind
from streamlets.lineage.values import CONSTANT, NONE, Influences, Value, combined, struct, with_influences
from streamlets.spark.plan_json import Expression, expressions_in

_SAME = frozenset(
    {"Alias", "KnownNullable", "KnownNotNull", "KnownFloatingPointNormalized", "PromotePrecision",
     "NamedArgumentExpression", "NormalizeNaNAndZero", "SortOrder", "AssertNotNull", "Collate", "WithField"}
)  # fmt: skip
"""Expressions that have the value of their first child."""

_ELEMENTS = frozenset(
    {"Explode", "PosExplode", "Inline", "GetArrayItem", "ElementAt", "GetMapValue", "Flatten", "Reverse", "Slice",
     "ArraySort", "SortArray", "ArrayDistinct", "TryElementAt", "MapValues", "ArrayCompact", "Shuffle"}
)  # fmt: skip
"""Expressions whose value has elements of their first child, with the fields that these have."""

_HASHES = frozenset(
    {"Md5", "Sha1", "Sha2", "Crc32", "Murmur3Hash", "XxHash64", "HiveHash", "CollationAwareMurmur3Hash",
     "CollationAwareXxHash64", "Mask", "Count", "CountDistinct", "ApproxCountDistinct", "HyperLogLogPlusPlus"}
)  # fmt: skip
"""Functions whose results do not reveal their arguments."""

_RANKS = frozenset({"Rank", "DenseRank", "PercentRank", "RowNumber", "NTile", "CumeDist"})
_SUBQUERIES = frozenset({"ScalarSubquery", "LateralSubquery", "Exists", "ListQuery", "FunctionTableSubqueryArgument"})
_GROUPED_PYTHON = frozenset({202, 203, 217, 252, 253, 254})
"""Spark's codes for Python functions that aggregate."""


def is_same_type(expression: Expression) -> bool:
    """Return whether an expression is a cast to the type that its operand has, which Spark adds above views."""
    if expression.name not in ("Cast", "UpCast") or len(expression.children) != 1:
        return False
    kind = expression.children[0].fields.get("dataType")
    return kind is not None and kind == expression.fields.get("dataType")


Subquery = Callable[[Expression, Mapping[int, Value]], tuple[Value, Influences]]


class ExpressionLineage:
    """Finds the columns on which expressions depend.

    Arguments:
        columns: the columns that expressions can use, by Spark's numbers.
        subquery: returns the value of a plan in an expression, with the columns that decide about its rows.
    """

    def __init__(self, columns: Mapping[int, Value], subquery: Subquery) -> None:
        self._columns = dict(columns)
        self._subquery = subquery

    def value(self, expression: Expression) -> Value:
        """Return the value of an expression."""
        name, children = expression.name, expression.children
        if name == "AttributeReference":
            return self._column(expression)
        if name == "NamedLambdaVariable":
            return self._columns.get(-1 if expression.id is None else expression.id, CONSTANT)
        if name in _SUBQUERIES:
            value, rows = self._subquery(expression, self._columns)
            return with_influences(value, rows)
        if name == "OuterReference":
            return self.value(next(expressions_in(list(expression.fields.values()))))
        if (name in _SAME and children) or is_same_type(expression):
            return self.value(children[0])
        if name in _ELEMENTS:
            return self._elements(expression)
        match name:
            case "GetStructField" | "GetArrayStructFields":
                return self._field(expression)
            case "CreateNamedStruct":
                return self._struct(children)
            case "UpdateFields":
                return self._updated(children)
            case "CaseWhen":
                last = children[-1:] if len(children) % 2 else []
                return self._choice(children[: len(children) - len(last) : 2], [*children[1::2], *last])
            case "If":
                return self._choice(children[:1], children[1:])
            case "AggregateExpression":
                return self._aggregate(children)
            case "WindowExpression":
                return self._window(children[0], children[1])
            case "MaxBy" | "MinBy":
                ordering = self.value(children[1]).deciding(Kind.SORT)
                return with_influences(self.value(children[0]), ordering)
            case "PivotFirst":
                return self._choice(children[:1], children[1:])
            case "PreciseTimestampConversion":  # a time window compares the time with itself
                time = self.value(children[0])
                compared = frozenset(each for each in time.inputs if each.kind is Kind.CONDITIONAL)
                return combined([replace(time, inputs=time.inputs - compared)], Kind.TRANSFORMATION)
            case "ArrayTransform" | "ArrayFilter":
                return self._each(name, children)
            case "PythonUDF" if expression.fields.get("evalType") in _GROUPED_PYTHON:
                return combined(map(self.value, children), Kind.AGGREGATION)
        return combined(map(self.value, children), Kind.TRANSFORMATION, masking=name in _HASHES)

    def deciding(self, expressions: Iterable[Expression], kind: Kind) -> Influences:
        """Return the influences of expressions that decide something."""
        return NONE.union(*(self.value(expression).deciding(kind) for expression in expressions))

    def unknown(self, expressions: Iterable[Expression]) -> frozenset[str]:
        """Return why the inputs of expressions may not be all."""
        return frozenset[str]().union(*(self.value(expression).unknown for expression in expressions))

    def _column(self, expression: Expression) -> Value:
        value = self._columns.get(-1 if expression.id is None else expression.id)
        if value is None:
            name = expression.fields.get("name")
            return Value(unknown=frozenset({f"the plan does not define the column `{name}`"}))
        return value

    def _elements(self, expression: Expression) -> Value:
        first, *others = expression.children
        elements = self.value(first).derived(Kind.TRANSFORMATION, nested=True)
        others_ = combined(map(self.value, others), Kind.TRANSFORMATION)
        return replace(elements, inputs=elements.inputs | others_.inputs, unknown=elements.unknown | others_.unknown)

    def _field(self, expression: Expression) -> Value:
        fields = expression.fields
        field = fields.get("field")
        name = fields.get("name") or (field.get("name") if isinstance(field, dict) else None)
        whole = self.value(expression.children[0])
        if isinstance(name, str):
            return whole.field(name)
        ordinal = fields.get("ordinal")
        if isinstance(ordinal, int) and ordinal < len(whole.parts):  # Spark omits the name where it has the position
            return list(whole.parts.values())[ordinal]
        return combined([whole], Kind.TRANSFORMATION)

    def _struct(self, children: list[Expression]) -> Value:
        names = [str(child.fields.get("value", "")) for child in children[::2]]
        return struct(dict(zip(names, map(self.value, children[1::2]), strict=True)))

    def _updated(self, children: list[Expression]) -> Value:
        before, *changes = children
        base = self.value(before)
        added = {str(change.fields.get("name", "")): self.value(change) for change in changes if change.children}
        whole = combined([base, *added.values()], Kind.TRANSFORMATION)
        return replace(whole, parts=dict(base.parts) | added, base=base)

    def _each(self, name: str, children: list[Expression]) -> Value:
        """Return the array that a function of its elements makes; the function may take their positions, too."""
        array, (function, *variables) = self.value(children[0]), children[1].children
        element = array.derived(Kind.TRANSFORMATION, nested=True)
        for number, variable in enumerate(variables):
            if variable.id is not None:
                self._columns[variable.id] = CONSTANT if number else element
        result = self.value(function)
        if name == "ArrayFilter":
            return with_influences(element, result.deciding(Kind.CONDITIONAL))
        return result.derived(Kind.TRANSFORMATION, nested=True)

    def _choice(self, conditions: Iterable[Expression], values: Iterable[Expression]) -> Value:
        chosen = combined(map(self.value, values), Kind.TRANSFORMATION)
        return replace(
            with_influences(chosen, self.deciding(conditions, Kind.CONDITIONAL)),
            unknown=chosen.unknown | self.unknown(conditions),
        )

    def _aggregate(self, children: list[Expression]) -> Value:
        function, *condition = children
        value = self.value(function)
        return with_influences(
            combined([value], Kind.AGGREGATION), self.deciding(condition, Kind.FILTER)
        )  # fmt: skip

    def _window(self, function: Expression, specification: Expression) -> Value:
        deciding = self.deciding(specification.children, Kind.WINDOW)
        if any(inner.name in _RANKS for inner in function.all()):
            return Value(deciding)
        return with_influences(combined([self.value(function)], Kind.TRANSFORMATION), deciding)
