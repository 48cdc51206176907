"""Reads a plan from the sources upwards: its stateful operators, and the rules by which rows come to them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from blueprint.comparison.descriptor import OperatorLogic
from blueprint.comparison.stateful_operators import AGGREGATION, JOIN, LIMIT, SESSION_WINDOWS, stateful_operator
from streamlets.spark import terms
from streamlets.spark.expression_terms import ExpressionTerms, Surroundings
from streamlets.spark.plan_columns import Column, columns_of, conjuncts_of, numbers_of, references, sides_of
from streamlets.spark.plan_json import Expression, PlanPart, expression_of, expressions_in
from streamlets.spark.plan_leaves import source_name, source_text, table_text
from streamlets.spark.plan_queries import stateful
from streamlets.spark.plan_tree import PlanNode
from streamlets.spark.terms import Term

_OUTPUTS = ("output", "outputAttrs")
_UNCHANGED = ("SubqueryAlias", "View", "ResolvedHint", "Repartition", "RepartitionByExpression", "CollectMetrics",
              "LocalLimit", "RebalancePartitions")  # fmt: skip
_WITHOUT_MEANING = (
    "isBarrier", "profile", "isStreaming", "requiredChildOutput", "unrequiredChildIndex", "qualifier", "seed", "outer",
)  # fmt: skip
_EXPLICIT_SEEDS = 2**32
"""Where no seed is set, Spark draws one from all long numbers."""
_KAFKA = ("key", "value", "topic", "partition", "offset")
_METADATA = "_meta"


class PlanReader:
    """Reads a plan.

    Arguments:
        inlets: the columns of each inlet. Above Kafka's messages, the first rows with the columns of an inlet are its
            records.
        around: what the expressions depend on beside the columns.
        inlet_sources: the names of the sources that are inlets; None for all.
    """

    def __init__(
        self, inlets: Iterable[tuple[str, ...]], around: Surroundings, inlet_sources: Collection[str] | None
    ) -> None:
        self.rules: list[str] = []
        self.operators: list[OperatorLogic] = []
        self._columns: dict[int, Term] = {}
        self._inlets = [list(inlet) for inlet in inlets]
        self._inlet_sources = inlet_sources
        self._mask = around.mask
        self._term = ExpressionTerms(self._columns, around)
        self._sources = 0
        self._branch = ""

    def read(self, plan: PlanPart) -> list[tuple[str, Term]]:
        """Read a plan, and return its columns by name."""
        output = self._outputs(plan)
        self._visit(plan, numbers_of(output))
        return [(name, self._column(name, number)) for name, number in output]

    def _visit(self, part: PlanPart, needed: set[int]) -> None:
        """Read a node and those below it.

        Arguments:
            needed: the columns of its output that nodes above it use.
        """
        if self._is_records(part):
            return
        match part.name:
            case "Project":
                self._below(part, references(self._wanted(part.expressions("projectList"), needed)))
                self._define(part.expressions("projectList"))
            case "Aggregate":
                self._aggregate(part, needed)
            case "Join":
                self._join(part, needed)
            case "Union":
                self._union(part, needed)
            case "Except" | "Intersect":
                self._set_operation(part)
            case "Expand":
                self._expand(part, needed)
            case "Deduplicate" | "DeduplicateWithinWatermark":
                keys = part.expressions("keys")
                self._below(part, needed | references(keys))
                name = "dedupe" if part.name == "Deduplicate" else "dedupeWithinWatermark"
                self._operator(part, name, [("key", self._term(key).text) for key in keys])
            case "Distinct":
                output = self._outputs(part)
                self._below(part, needed | numbers_of(output))
                self._operator(part, AGGREGATION.name, [("key", self._column(*column).text) for column in output])
            case "EventTimeWatermark":
                self._watermark(part, needed)
            case "GlobalLimit":
                self._below(part, needed)
                before = len(self.operators)
                self._operator(part, LIMIT.name, [])
                self._rule(f"limit {self._joined(part.expressions('limitExpr'))}", before)
            case "FlatMapGroupsInPandasWithState" | "TransformWithStateInPySpark":
                self._groups(part)
            case _ if not part.children:
                self._leaf(part)
            case _:
                self._other(part, needed)

    def _outputs(self, part: PlanPart) -> list[Column]:
        """Return the columns of a node in their order."""
        for field in _OUTPUTS:
            if field in part.fields:
                return columns_of(part.expressions(field))
        match part.name:
            case "Project":
                return columns_of(part.expressions("projectList"))
            case "Aggregate":
                return columns_of(part.expressions("aggregateExpressions"))
            case "Join" if re.search(r"LeftSemi|LeftAnti\$", str(part.fields)):
                return self._outputs(part.children[0])
            case "Join":
                return [column for child in part.children for column in self._outputs(child)]
            case "Generate":
                return [*self._outputs(part.children[0]), *columns_of(part.expressions("generatorOutput"))]
        return self._outputs(part.children[0]) if part.children else []

    def _is_records(self, part: PlanPart) -> bool:
        """Return whether a node gives the records of an inlet from messages, and define its columns if so."""
        leaves = [node for node in part.all() if not node.children]
        if not self._has_records(part) or len(leaves) != 1 or any(map(self._has_records, list(part.all())[1:])):
            return False
        if [name for name, _ in self._outputs(leaves[0])][: len(_KAFKA)] != list(_KAFKA):
            return False
        self._source(leaves[0], self._outputs(part))
        return True

    def _has_records(self, part: PlanPart) -> bool:
        names = [name for name, _ in self._outputs(part)]
        return bool(part.children) and any(names in (inlet, [*inlet, _METADATA]) for inlet in self._inlets)

    def _below(self, part: PlanPart, needed: set[int]) -> None:
        for child in part.children:
            self._visit(child, needed)

    def _in_branch(self, child: PlanPart, needed: set[int]) -> None:
        """Read one of several inputs, whose rules are for its rows only."""
        outer, self._branch = self._branch, self._branch_of(child)
        self._visit(child, needed)
        self._branch = outer

    def _branch_of(self, child: PlanPart) -> str:
        leaves = (part for part in child.all() if not part.children)
        names = (source_name(leaf) if leaf.name.startswith("StreamingRelation") else table_text(leaf, self._mask)
                 for leaf in leaves)  # fmt: skip
        return " and ".join(sorted(filter(None, names)))

    @staticmethod
    def _wanted(expressions: list[Expression], needed: set[int]) -> list[Expression]:
        return [expression for expression in expressions if expression.id in needed]

    def _define(self, expressions: Iterable[Expression]) -> None:
        for expression in expressions:
            if expression.name != "AttributeReference" and expression.id is not None:
                self._columns[expression.id] = self._term(expression)

    def _column(self, name: str, number: int) -> Term:
        return self._columns.get(number) or Term(name)

    def _joined(self, expressions: Iterable[Expression]) -> str:
        return terms.joined(map(self._term, expressions))

    def _operator(self, part: PlanPart, name: str, parts: list[tuple[str, str]]) -> None:
        if part.streaming:
            self.operators.append(OperatorLogic(name, tuple(parts)))

    def _rule(self, text: str, operators: int) -> None:
        """Add a rule, with how many stateful operators are below it: the same filter elsewhere is another rule."""
        kind = stateful_operator(self.operators[operators - 1].name).phrase.replace("`", "") if operators else ""
        branch = f" of {self._branch}" if self._branch else ""
        self.rules.append(f"{text}{branch} after {kind} {operators}" if operators else f"{text}{branch}")

    def _aggregate(self, part: PlanPart, needed: set[int]) -> None:
        keys, results = part.expressions("groupingExpressions"), part.expressions("aggregateExpressions")
        wanted = self._wanted(results, needed)
        self._below(part, references([*keys, *wanted]))
        calls = [inner for result in wanted for inner in result.all() if _aggregates(inner)]
        parts = [("key", self._term(key).text) for key in keys]
        parts += [("value", text) for text in dict.fromkeys(self._term(inner).text for inner in calls)]
        sessions = any("session_window" in name for name, _ in columns_of(keys))
        self._operator(part, (SESSION_WINDOWS if sessions else AGGREGATION).name, parts)
        self._define(results)

    def _join(self, part: PlanPart, needed: set[int]) -> None:
        conditions = part.expressions("condition")
        required = needed | references(conditions)
        for child in part.children:
            self._in_branch(child, required)
        type = str((part.fields.get("joinType") or {}).get("object", part.fields.get("joinType")))
        type = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type.rpartition(".")[2].strip("$")).lower()
        left, right = (numbers_of(self._outputs(child)) for child in part.children)
        conjuncts = [inner for condition in conditions for inner in conjuncts_of(condition)]
        pairs = [pair for conjunct in conjuncts if (pair := sides_of(conjunct, left, right)) is not None]
        others = [conjunct for conjunct in conjuncts if sides_of(conjunct, left, right) is None]
        before = len(self.operators)
        if not all(child.streaming for child in part.children):
            self._rule(f"{type} join with a table on {terms.junction('AND', map(self._term, conjuncts)).text}", before)
            return
        parts = [("key", f"{self._term(one).text} = {self._term(other).text}") for one, other in pairs]
        for side, child in zip(("left", "right"), part.children, strict=True):
            kept = [column for column in self._outputs(child) if column[1] in required]
            parts += [(f"{side} column", self._column(*column).text) for column in kept]
        self._operator(part, JOIN.name, parts)
        on = terms.junction("AND", map(self._term, others)).text if others else "its keys"
        self._rule(f"{type} join on {on}", before)

    def _union(self, part: PlanPart, needed: set[int]) -> None:
        own = self._outputs(part.children[0])
        wanted = [index for index, (_, number) in enumerate(own) if number in needed]
        rows: list[tuple[str, list[Term]]] = []
        for child in part.children:
            columns = self._outputs(child)
            self._in_branch(child, {columns[index][1] for index in wanted})
            rows.append((self._branch_of(child), [self._column(*column) for column in columns]))
        rows.sort(key=lambda row: (row[0], [row[1][index].text for index in wanted]))
        for index, (_, number) in enumerate(own):
            self._columns[number] = _either("union", [row[index] for _, row in rows])
        self._rule(f"union of {len(part.children)}", len(self.operators))

    def _set_operation(self, part: PlanPart) -> None:
        """Read a node that keeps the rows that another input has, or does not have."""
        sides = [self._outputs(child) for child in part.children]
        for child, columns in zip(part.children, sides, strict=True):
            self._in_branch(child, numbers_of(columns))
        left, right = (terms.joined(self._column(*column) for column in columns) for columns in sides)
        every = " all" if part.fields.get("isAll") else ""
        self._rule(f"{part.name.lower()}{every} of ({left}) and ({right})", len(self.operators))

    def _expand(self, part: PlanPart, needed: set[int]) -> None:
        rows = [list(expressions_in(row)) for row in part.fields.get("projections") or _projections(part)]
        own = self._outputs(part)
        wanted = [index for index, (_, number) in enumerate(own) if number in needed]
        self._below(part, references([row[index] for row in rows for index in wanted]))
        for index, (_, number) in enumerate(own):
            self._columns[number] = _either("each of", [self._term(row[index]) for row in rows])

    def _watermark(self, part: PlanPart, needed: set[int]) -> None:
        times = part.expressions("eventTime")
        self._below(part, needed | references(times))
        column = self._joined(times)
        self.operators.append(OperatorLogic("watermark", (("column", column),)))
        self.rules.append(f"watermark on {column} of {part.node.delay().toString()}")

    def _groups(self, part: PlanPart) -> None:
        """Read an operator whose state belongs to a function of the author."""
        functions = part.expressions("functionExpr")
        keys = part.expressions("groupingAttributes")
        self._below(part, references([*functions, *keys]))
        if not keys:  # the first columns below are the keys
            count = int(part.fields.get("groupingAttributesLen") or 0)
            parts = [("key", self._column(*column).text) for column in self._outputs(part.children[0])[:count]]
        else:
            parts = [("key", self._term(key).text) for key in keys]
        inputs = [self._term(child).text for function in functions for child in function.children]
        pandas = part.name != "TransformWithStateInPySpark"
        name = "applyInPandasWithState" if pandas else _transform(part)
        before = len(self.operators)
        self._operator(part, name, [*parts, *(("column", text) for text in inputs)])
        modes = [_object(part.fields.get(field)) for field in ("outputMode", "timeout", "timeMode")]
        self._rule(f"function {self._joined(functions)}; {' '.join(filter(None, modes))}", before)
        for column, number in self._outputs(part):
            self._columns[number] = Term(f"{name}.{column}")

    def _leaf(self, part: PlanPart) -> None:
        if part.name.startswith("StreamingRelation"):
            self._source(part, self._outputs(part))
            return
        description = table_text(part, self._mask)
        for name, number in self._outputs(part):
            self._columns[number] = Term(f"{description}.{name}")
        if self._outputs(part):
            self.rules.append(f"table {description}")

    def _source(self, leaf: PlanPart, columns: list[Column]) -> None:
        self._sources += 1
        name = source_name(leaf)
        types = {expression.id: expression.fields.get("dataType") for expression in leaf.expressions("output")}
        for column, number in columns:
            type = types.get(number)
            self._columns[number] = Term(f"{name or f'source {self._sources}'}.{column}",
                                         type=type if isinstance(type, str) else None)  # fmt: skip
        if name and self._inlet_sources is not None and name not in self._inlet_sources:
            self.rules.append(f"source {name} reads {source_text(leaf, self._mask)}")

    def _other(self, part: PlanPart, needed: set[int]) -> None:
        """Read a node that changes which rows there are, or computes them: a filter, a generator, a function."""
        expressions = [inner for field, value in part.fields.items() if field not in (*_OUTPUTS, "generatorOutput")
                       for inner in expressions_in(value)]  # fmt: skip
        self._below(part, needed | references(expressions))
        if part.name in _UNCHANGED:
            return
        before = len(self.operators)
        if part.name == "Filter":
            condition = terms.junction("AND", map(self._term, expressions))
            for conjunct in condition.parts if condition.operator == "AND" else (condition,):
                self._rule(f"filter {conjunct.text}", before)
            return
        text = f"{part.name}({', '.join([*map(self._text, expressions), *_modes(part), *_seed(part)])})"
        self._rule(f"{text}{' outer' if part.fields.get('outer') else ''}", before)
        known = {number for child in part.children for _, number in self._outputs(child)}
        for name, number in [*self._outputs(part), *columns_of(part.expressions("generatorOutput"))]:
            if number not in known:
                self._columns[number] = Term(f"{text}.{name}")

    def _text(self, expression: Expression) -> str:
        return self._term(expression).text


def _either(name: str, alternatives: list[Term]) -> Term:
    """Return a column that has a different content in each of several rows; all are listed, as their order counts."""
    if len({term.text for term in alternatives}) == 1:
        return alternatives[0]
    return Term(f"{name}({terms.joined(alternatives)})", stable=all(term.stable for term in alternatives))


def _projections(part: PlanPart) -> list[list[Expression]]:
    """Return the rows that a node makes of each one, from Java: the JSON does not have the rows of `unpivot`."""
    rows = part.node.projections()
    return [[expression_of(row.apply(index)) for index in range(row.size())]
            for row in map(rows.apply, range(rows.size()))]  # fmt: skip


def _modes(part: PlanPart) -> list[str]:
    """Return the fields of a node that are not expressions, as arguments."""
    texts = {field: _object(value) or value for field, value in part.fields.items() if field not in _WITHOUT_MEANING}
    return [f"{field}={text}" for field, text in texts.items() if isinstance(text, str | float | bool)]


def _seed(part: PlanPart) -> list[str]:
    """Return the seed of a sample that the author has set, as the end of its arguments."""
    seed = part.fields.get("seed")
    if not isinstance(seed, int) or abs(seed) >= _EXPLICIT_SEEDS:
        return []
    written = part.node.origin().sqlText()
    if written.isDefined() and "repeatable" not in str(written.get()).lower():  # SQL draws small ones
        return []
    return [f"seed={seed}"]


def _aggregates(expression: Expression) -> bool:
    """Return whether an expression is a call of an aggregate function, also of one in Python."""
    return expression.name in ("AggregateExpression", "PythonUDAF")


def _transform(part: PlanPart) -> str:
    name, _, rest = part.text.lstrip("~'!").partition(" ")
    source = PlanNode("StreamingRelation", "", 1)
    operator = stateful(PlanNode(name, rest, 0, [source]), "append")
    return operator.name if operator is not None else name


def _object(value: Any) -> str:
    return str(value["object"]).strip("$").rpartition(".")[2].rpartition("$")[2] if isinstance(value, dict) else ""
