"""What determines the content of a query's state, from its analyzed plan.

Every expression is followed through renamed and computed columns to the sources, so that it does not matter how the
author has spread it over several steps. Columns that nothing uses are omitted, as the optimizer omits them from
state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from blueprint.comparison.descriptor import DescribedLogic, OperatorLogic
from blueprint.comparison.meaning import TIME_ZONE
from blueprint.comparison.stateful_operators import AGGREGATION, JOIN, LIMIT, SESSION_WINDOWS, stateful_operator
from blueprint.settings.secret_sources import streamlet_secrets
from streamlets.spark.expression_text import UNKNOWN_CODE, ExpressionText
from streamlets.spark.plan_json import Expression, PlanPart, expressions_in, plan_of
from streamlets.spark.plan_tree import PlanNode
from streamlets.spark.python_functions import code_digests
from streamlets.spark.session_meaning import meaning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.plan import StreamletPlan

Column = tuple[str, int]
"""The name and the number of a column."""

_SOURCE = re.compile(r'name="(\w+)"$')
_DELAY = re.compile(r": timestamp(?:_ntz)?, (?P<delay>.+)$")
_TRY = re.compile(r"\btry_(?:cast|sum|avg|add|subtract|multiply|divide)\b")
_OUTPUTS = ("output", "outputAttrs")
_UNCHANGED = ("SubqueryAlias", "View", "ResolvedHint", "Repartition", "RepartitionByExpression", "CollectMetrics",
              "LocalLimit", "WithCTE", "CTERelationDef", "CTERelationRef", "RebalancePartitions")  # fmt: skip
_KAFKA = ("key", "value", "topic", "partition", "offset")


def query_logic(
    frame: DataFrame, mode: str, inlets: Iterable[tuple[str, ...]] = (), mask: Callable[[str], str] = str
) -> DescribedLogic:
    """Return what determines the content of the state of a query.

    Arguments:
        frame: the rows that it writes.
        mode: its output mode.
        inlets: the columns of each inlet. Above Kafka's messages, the first rows with the columns of an inlet are its
            records.
        mask: returns a literal without secrets.
    """
    plan = plan_of(frame)
    text = partial(ExpressionText, code=code_digests(plan), zone=str(frame.sparkSession.conf.get(TIME_ZONE)), mask=mask)
    reader = _Reader([list(inlet) for inlet in inlets], text)
    output = reader.outputs(plan)
    reader.visit(plan, {number for _, number in output})
    results = tuple(f"result {name} = {reader.columns.get(number, name)}" for name, number in output)
    rules = (f"output mode {mode}", *sorted(reader.rules), *results)
    return DescribedLogic(tuple(reader.operators), rules, meaning(frame.sparkSession))


class _Reader:
    """Reads a plan from the sources upwards."""

    def __init__(self, inlets: list[list[str]], text: Callable[[Mapping[int, str]], ExpressionText]) -> None:
        self.columns: dict[int, str] = {}
        self.rules: list[str] = []
        self.operators: list[OperatorLogic] = []
        self._inlets = inlets
        self._text = text(self.columns)
        self._sources = 0

    def visit(self, part: PlanPart, needed: set[int]) -> None:
        """Read a node and those below it.

        Arguments:
            needed: the columns of its output that nodes above it use.
        """
        if self._is_records(part):
            return
        before = len(self.operators)
        match part.name:
            case "Project":
                self._below(part, _references(self._wanted(part.expressions("projectList"), needed)))
                self._define(part.expressions("projectList"))
            case "Aggregate":
                self._aggregate(part, needed)
            case "Join":
                self._join(part, needed)
            case "Union":
                self._union(part, needed)
            case "Expand":
                self._expand(part, needed)
            case "Deduplicate" | "DeduplicateWithinWatermark":
                keys = part.expressions("keys")
                self._below(part, needed | _references(keys))
                name = "dedupe" if part.name == "Deduplicate" else "dedupeWithinWatermark"
                self._operator(part, name, [("key", self._text(key)) for key in keys])
            case "Distinct":
                self._below(part, needed | {number for _, number in self.outputs(part)})
                keys_of = [("key", self.columns.get(number, name)) for name, number in self.outputs(part)]
                self._operator(part, AGGREGATION.name, keys_of)
            case "EventTimeWatermark":
                self._watermark(part, needed)
            case "GlobalLimit":
                self._below(part, needed)
                self._operator(part, LIMIT.name, [])
                self._rule(f"limit {self._joined(part.expressions('limitExpr'))}", before)
            case "FlatMapGroupsInPandasWithState" | "TransformWithStateInPySpark":
                self._groups(part)
            case _ if not part.children:
                self._leaf(part)
            case _:
                self._other(part, needed)

    def outputs(self, part: PlanPart) -> list[Column]:
        """Return the columns of a node in their order."""
        for field in _OUTPUTS:
            if field in part.fields:
                return _columns(part.expressions(field))
        match part.name:
            case "Project":
                return _columns(part.expressions("projectList"))
            case "Aggregate":
                return _columns(part.expressions("aggregateExpressions"))
            case "Join" if str(part.fields.get("joinType")).count("LeftSemi") + str(part.fields).count("LeftAnti$"):
                return self.outputs(part.children[0])
            case "Join":
                return [column for child in part.children for column in self.outputs(child)]
            case "Generate":
                return [*self.outputs(part.children[0]), *_columns(part.expressions("generatorOutput"))]
        return self.outputs(part.children[0]) if part.children else []

    def _is_records(self, part: PlanPart) -> bool:
        """Return whether a node gives the records of an inlet from messages, and define its columns if so."""
        names = [name for name, _ in self.outputs(part)]
        leaves = [node for node in part.all() if not node.children]
        if names not in self._inlets or not part.children or len(leaves) != 1:
            return False
        if [name for name, _ in self.outputs(leaves[0])][: len(_KAFKA)] != list(_KAFKA):
            return False
        self._source(leaves[0], self.outputs(part))
        return True

    def _below(self, part: PlanPart, needed: set[int]) -> None:
        for child in part.children:
            self.visit(child, needed)

    @staticmethod
    def _wanted(expressions: list[Expression], needed: set[int]) -> list[Expression]:
        return [expression for expression in expressions if expression.id in needed]

    def _define(self, expressions: Iterable[Expression]) -> None:
        for expression in expressions:
            if expression.name != "AttributeReference" and expression.id is not None:
                self.columns[expression.id] = self._text(expression)

    def _joined(self, expressions: Iterable[Expression]) -> str:
        return ", ".join(map(self._text, expressions))

    def _operator(self, part: PlanPart, name: str, parts: list[tuple[str, str]]) -> None:
        if part.streaming:
            tries = [("calls", match) for match in sorted(set(_TRY.findall(part.text)))]
            self.operators.append(OperatorLogic(name, tuple(parts + tries)))

    def _rule(self, text: str, operators: int) -> None:
        """Add a rule, with how many stateful operators are below it: the same filter elsewhere is another rule."""
        kind = stateful_operator(self.operators[operators - 1].name).phrase.replace("`", "") if operators else ""
        self.rules.append(f"{text} after {kind} {operators}" if operators else text)

    def _aggregate(self, part: PlanPart, needed: set[int]) -> None:
        keys, results = part.expressions("groupingExpressions"), part.expressions("aggregateExpressions")
        wanted = self._wanted(results, needed)
        self._below(part, _references([*keys, *wanted]))
        calls = [inner for result in wanted for inner in result.all() if _aggregates(inner)]
        parts = [("key", self._text(key)) for key in keys]
        parts += [("value", text) for text in dict.fromkeys(map(self._text, calls))]
        sessions = any("session_window" in name for name, _ in _columns(keys))
        self._operator(part, (SESSION_WINDOWS if sessions else AGGREGATION).name, parts)
        self._define(results)

    def _join(self, part: PlanPart, needed: set[int]) -> None:
        conditions = part.expressions("condition")
        required = needed | _references(conditions)
        self._below(part, required)
        type = str((part.fields.get("joinType") or {}).get("object", part.fields.get("joinType")))
        type = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type.rpartition(".")[2].strip("$")).lower()
        left, right = ({number for _, number in self.outputs(child)} for child in part.children)
        conjuncts = [inner for condition in conditions for inner in _conjuncts(condition)]
        pairs = [pair for conjunct in conjuncts if (pair := _sides(conjunct, left, right)) is not None]
        others = [conjunct for conjunct in conjuncts if _sides(conjunct, left, right) is None]
        before = len(self.operators)
        if not all(child.streaming for child in part.children):
            self._rule(f"{type} join with a table on {' AND '.join(sorted(map(self._text, conjuncts)))}", before)
            return
        parts = [("key", f"{self._text(one)} = {self._text(other)}") for one, other in pairs]
        for side, child in zip(("left", "right"), part.children, strict=True):
            kept = [(name, number) for name, number in self.outputs(child) if number in required]
            parts += [(f"{side} column", self.columns.get(number, name)) for name, number in kept]
        self._operator(part, JOIN.name, parts)
        self._rule(f"{type} join on {' AND '.join(sorted(map(self._text, others))) or 'its keys'}", before)

    def _union(self, part: PlanPart, needed: set[int]) -> None:
        own = self.outputs(part.children[0])
        wanted = [index for index, (_, number) in enumerate(own) if number in needed]
        texts: list[list[str]] = []
        for child in part.children:
            columns = self.outputs(child)
            self.visit(child, {columns[index][1] for index in wanted})
            texts.append([self.columns.get(number, name) for name, number in columns])
        for index, (_, number) in enumerate(own):
            different = list(dict.fromkeys(text[index] for text in texts))
            self.columns[number] = different[0] if len(different) == 1 else f"union({', '.join(different)})"
        self._rule(f"union of {len(part.children)}", len(self.operators))

    def _expand(self, part: PlanPart, needed: set[int]) -> None:
        rows = [list(expressions_in(row)) for row in part.fields.get("projections", [])]
        own = self.outputs(part)
        wanted = [index for index, (_, number) in enumerate(own) if number in needed]
        self._below(part, _references([row[index] for row in rows for index in wanted]))
        for index, (_, number) in enumerate(own):
            different = list(dict.fromkeys(self._text(row[index]) for row in rows))
            self.columns[number] = different[0] if len(different) == 1 else f"each of({', '.join(different)})"

    def _watermark(self, part: PlanPart, needed: set[int]) -> None:
        times = part.expressions("eventTime")
        self._below(part, needed | _references(times))
        column = self._joined(times)
        self.operators.append(OperatorLogic("watermark", (("column", column),)))
        delay = _DELAY.search(part.text)
        self.rules.append(f"watermark on {column} of {delay['delay'] if delay else '?'}")

    def _groups(self, part: PlanPart) -> None:
        """Read an operator whose state belongs to a function of the author."""
        functions = part.expressions("functionExpr")
        keys = part.expressions("groupingAttributes")
        self._below(part, _references([*functions, *keys]))
        if not keys:  # the first columns below are the keys
            count = int(part.fields.get("groupingAttributesLen") or 0)
            below = self.outputs(part.children[0])[:count]
            parts = [("key", self.columns.get(number, name)) for name, number in below]
        else:
            parts = [("key", self._text(key)) for key in keys]
        inputs = [self._text(child) for function in functions for child in function.children]
        pandas = part.name != "TransformWithStateInPySpark"
        name = "applyInPandasWithState" if pandas else _transform(part)
        before = len(self.operators)
        self._operator(part, name, [*parts, *(("column", text) for text in inputs)])
        modes = [_object(part.fields.get(field)) for field in ("outputMode", "timeout", "timeMode")]
        self._rule(f"function {self._joined(functions)}; {' '.join(filter(None, modes))}", before)
        for column, number in self.outputs(part):
            self.columns[number] = f"{name}.{column}"

    def _leaf(self, part: PlanPart) -> None:
        if part.name.startswith("StreamingRelation"):
            self._source(part, self.outputs(part))
            return
        description = _table(part)
        for name, number in self.outputs(part):
            self.columns[number] = f"{description}.{name}"
        if self.outputs(part):
            self.rules.append(f"table {description}")

    def _source(self, leaf: PlanPart, columns: list[Column]) -> None:
        self._sources += 1
        named = _SOURCE.search(leaf.text)
        source = named[1] if named else f"source {self._sources}"
        for name, number in columns:
            self.columns[number] = f"{source}.{name}"

    def _other(self, part: PlanPart, needed: set[int]) -> None:
        """Read a node that changes which rows there are, or computes them: a filter, a generator, a function."""
        expressions = [inner for field, value in part.fields.items() if field not in (*_OUTPUTS, "generatorOutput")
                       for inner in expressions_in(value)]  # fmt: skip
        self._below(part, needed | _references(expressions))
        if part.name in _UNCHANGED:
            return
        before = len(self.operators)
        if part.name == "Filter":
            for expression in expressions:
                for conjunct in _conjuncts(expression):
                    self._rule(f"filter {self._text(conjunct)}", before)
            return
        text = f"{part.name}({self._joined(expressions)})"
        self._rule(f"{text}{' outer' if part.fields.get('outer') else ''}", before)
        known = {number for child in part.children for _, number in self.outputs(child)}
        for name, number in [*self.outputs(part), *_columns(part.expressions("generatorOutput"))]:
            if number not in known:
                self.columns[number] = f"{text}.{name}"


def _columns(expressions: Iterable[Expression]) -> list[Column]:
    return [
        (str(expression.fields.get("name", "")), -1 if expression.id is None else expression.id)
        for expression in expressions
    ]  # fmt: skip


def _references(expressions: Iterable[Expression]) -> set[int]:
    return {
        inner.id for expression in expressions for inner in expression.all()
        if inner.name == "AttributeReference" and inner.id is not None
    }  # fmt: skip


def _aggregates(expression: Expression) -> bool:
    """Return whether an expression is a call of an aggregate function, also of one in Python."""
    return expression.name in ("AggregateExpression", "PythonUDAF")


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if condition.name == "And":
        for child in condition.children:
            yield from _conjuncts(child)
    else:
        yield condition


def _sides(condition: Expression, left: set[int], right: set[int]) -> tuple[Expression, Expression] | None:
    """Return the sides of an equation of both sides of a join, the left one first; None for another condition."""
    if condition.name not in ("EqualTo", "EqualNullSafe"):
        return None
    one, other = condition.children
    references = _references([one]), _references([other])
    if all(references):
        if references[0] <= left and references[1] <= right:
            return one, other
        if references[0] <= right and references[1] <= left:
            return other, one
    return None


def _transform(part: PlanPart) -> str:
    from streamlets.spark.plan_queries import stateful

    name, _, rest = part.text.lstrip("~'!").partition(" ")
    source = PlanNode("StreamingRelation", "", 1)
    operator = stateful(PlanNode(name, rest, 0, [source]), "append")
    return operator.name if operator is not None else name


def _object(value: Any) -> str:
    return str(value["object"]).strip("$").rpartition(".")[2].rpartition("$")[2] if isinstance(value, dict) else ""


def _table(part: PlanPart) -> str:
    """Return the identity of a table: its path, its name or its rows; rows of the author's own are not known."""
    try:
        match part.name:
            case "LocalRelation":
                return f"rows {part.node.data().mkString(' ')}"
            case "LogicalRelation":
                relation = part.node.relation()
                paths = getattr(relation, "location", None)
                return f"table {paths().rootPaths().mkString(' ')}" if paths else str(relation)
            case "LogicalRDD" | "ExternalRDD":
                return f"rows{UNKNOWN_CODE}"
    except Exception:  # noqa: BLE001 - a class of Java without this method
        return f"{part.name}{UNKNOWN_CODE}"
    return re.sub(r"@[0-9a-f]+|#\d+L?", "", part.text)


def logic_of(frame: DataFrame, mode: str, streamlet: StreamletPlan) -> DescribedLogic:
    """Return what determines the content of the state of a streamlet's query; see `query_logic`."""
    inlets = (tuple(field.name for field in inlet.contract.record.fields) for inlet in streamlet.inlets)
    return query_logic(frame, mode, inlets, streamlet_secrets(streamlet).masked)
