"""A mistake that is inserted into valid logic has exactly one finding, at its place in the author's file."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.comparison import DescribedQuery
from blueprint.logic import BuildableApplication, BuiltLogic
from blueprint.verification.verify import Verification, verify
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
APPLICATIONS = {
    "flights": EXAMPLES / "flights",
    "resilience": EXAMPLES / "resilience",
    "sensors": EXAMPLES / "sensors",
    "shop": Path(__file__).parent / "shop",
}

# The application and file of each streamlet.
FILES = {
    "delays": ("flights", "nyc/delays.py"),
    "splitter": ("flights", "nyc/splitter.py"),
    "join": ("flights", "nyc/join.py"),
    "average": ("sensors", "gauges/average.py"),
}

# The streamlet; the text to replace in its file, the replacement; the code of the finding, and the text at its place.
MISTAKES: list[tuple[str, str, str, str, str]] = [
    # columns
    ("delays", 'F.avg("arrival_delay")', 'F.avg("arrival_dely")', "unknown-column", '"arrival_dely"'),
    ("delays", '"1 hour"), "carrier")', '"1 hour"), "airline")', "unknown-column", '"airline"'),
    ("delays", 'F.col("rain")', 'F.col("rian")', "unknown-column", '"rian"'),
    ("delays", '"window.start"', '"window.begin"', "unknown-column", '"window.begin"'),
    ("splitter", 'F.col("departure_delay")', 'F.col("dep_delay")', "unknown-column", '"dep_delay"'),
    ("join", '["hour", "origin"], "left', '["hour", "dest"], "left', "unknown-column", '"dest"'),
    ("payments", "value % 50 + 0.5D AS amount", "valu % 50 + 0.5D AS amount", "unknown-column", "valu % 50"),
    ("once", '["customer", "page"]', '["customer", "pgae"]', "unknown-column", '"pgae"'),
    # expressions
    ("average", 'F.avg("value")', 'F.average("value")', "logic-raises", "F.average"),
    ("paid", "AND paid >= ordered", "AND AND paid >= ordered", "plan-refused", "orders.join("),
    (
        "orders",
        'F.col("value") % 50 + F.lit(0.5)',
        'F.col("timestamp") % 50',
        "plan-refused",
        '(F.col("timestamp") % 50)',
    ),
    # watermarks, operators, modes
    (
        "join",
        'weather).withWatermark("hour", patience)',
        'weather).withWatermark("wind", patience)',
        "watermark-column",
        '"wind"',
    ),
    (
        "delays",
        '                .withWatermark("hour", self.value(me.patience).sql)\n',
        "",
        "output-mode",
        "self.write_stream(",
    ),
    ("visits", "me.visits)", 'me.visits, output_mode="update")', "output-mode", '"update"'),
    ("bestsellers", 'output_mode="complete"', 'output_mode="all"', "output-mode", '"all"'),
    (
        "reminders",
        '.select("customer", "order")',
        '.orderBy("customer")',
        "unsupported-operator",
        "self.read_stream(self.streamlet.orders).orderBy",
    ),
    (
        "once",
        '.withWatermark("at", "5 minutes")\n            return',
        ("\n            return"),
        "unsupported-operator",
        "clicks.dropDuplicatesWithinWatermark",
    ),
    (
        "once",
        'dropDuplicatesWithinWatermark(["customer"',
        'dropDuplicates(["customer"',
        "unbounded-state",
        "clicks.dropDuplicates",
    ),
    ("paid", " AND paid >= ordered AND paid <= ordered + INTERVAL {patience}", "", "unbounded-state", "orders.join("),
    # contracts
    ("average", 'F.col("window.end")', 'F.date_format("window.end", "HH")', "outlet-schema", "averages, me"),
    ("average", '\n                .drop("window")', "", "outlet-schema", "averages, me"),
    (
        "splitter",
        "flights.where(~left)",
        'flights.where(~left).drop("origin")',
        "outlet-schema",
        "lambda flights: flights.where(~left)",
    ),
    # ports
    (
        "join",
        'flown.join(observed, ["hour", "origin"], "left_outer")',
        'flown.selectExpr("*", "0.0D AS wind", "0.0D AS rain")',
        "inlet-unread",
        'AvroInlet(schema="../schemas/Weather',
    ),
    (
        "board",
        "self.read_stream(me.revenue).write",
        "self.read_stream(me.bestsellers).write",
        "inlet-unread",
        "AvroInlet(schema=REVENUE)",
    ),
    (
        "valid",
        "                    me.rejected: lambda orders: orders.where(~costs),\n",
        "",
        "outlet-unwritten",
        'AvroOutlet(schema=Order)\n\n    class Logic(SparkStreamletLogic["Valid"])',
    ),
    (
        "visits",
        "return self.write_stream(visits.select(",
        (
            'rows = visits.selectExpr("customer", "count AS views")\n'
            '            first = self.write_stream(rows, me.visits, name="other")\n'
            "            return first, self.write_stream(visits.select("
        ),
        "outlet-written-twice",
        "self.write_stream(visits.select(",
    ),
    (
        "splitter",
        "self.read_stream(me.flights)",
        "self.read_stream(me.flown)",
        "logic-misuse",
        "self.read_stream(me.flown)",
    ),
    # sources
    (
        "clicks",
        'rates(self, "clicks")',
        'self.session.readStream.format("rate").load()',
        "source-unnamed",
        "self.session.readStream",
    ),
    ("clicks", 'rates(self, "clicks")', 'rates(self, "clicks-1")', "source-name", "logic.source("),
    (
        "reminders",
        '.select("customer", "order")',
        ('.select("customer", "order")\n            orders = orders.union(orders)'),
        "source-used-twice",
        'self.query("mail"',
    ),
    (
        "reminders",
        "self.read_stream(self.streamlet.orders).select",
        "self.session.range(3).selectExpr('id AS `order`', 'id AS customer').select",
        "not-a-stream",
        "orders.writeStream",
    ),
    # queries
    ("board", 'self.query("clicks"', 'self.query("revenue"', "query-name-clash", 'self.query("revenue", clicks'),
    ("board", 'self.query("clicks"', 'self.query("c l"', "query-name", 'self.query("c l"'),
    ("board", '.format("console")', "", "query-without-sink", 'self.query("bestsellers"'),
    (
        "reminders",
        "orders.writeStream.foreachBatch(show))",
        "orders.writeStream.foreachBatch(show).start())",
        "query-started",
        'self.query("mail"',
    ),
    (
        "reminders",
        'return self.query("mail", orders.writeStream.foreachBatch(show))',
        "orders.writeStream.foreachBatch(show).start().awaitTermination()",
        "action-in-logic",
        "orders.writeStream",
    ),
    (
        "reminders",
        'return self.query("mail", orders.writeStream.foreachBatch(show))',
        'orders.writeStream.format("console").start()',
        "query-lost",
        "orders.writeStream",
    ),
    ("reminders", 'return self.query("mail"', 'self.query("mail"', "query-lost", 'self.query("mail"'),
    (
        "reminders",
        'return self.query("mail", orders.writeStream.foreachBatch(show))',
        "return orders",
        "logic-result",
        "build_streaming_queries(self) -> Queries:\n            orders = self.read_stream(self.streamlet",
    ),
    ("reminders", 'self.query("mail"', 'self.query(f"mail-{id(orders)}"', "logic-impure", 'f"mail-{id(orders)}"'),
    # actions while the logic is built
    (
        "reminders",
        '.select("customer", "order")',
        ('.select("customer", "order")\n            print(orders.collect())'),
        "action-in-logic",
        "orders.collect()",
    ),
    (
        "reminders",
        '.select("customer", "order")',
        ('.select("customer", "order")\n            print(self.session.range(3).count())'),
        "action-in-logic",
        "self.session.range(3).count()",
    ),
    (
        "reminders",
        '.select("customer", "order")',
        ('.select("customer", "order")\n            self.session.sql(\'CREATE TABLE sent (customer string)\')'),
        "action-in-logic",
        "self.session.sql(",
    ),
    (
        "reminders",
        '.select("customer", "order")',
        ('.select("customer", "order")\n            self.session.range(3).write.parquet("out")'),
        "action-in-logic",
        "self.session.range(3).write",
    ),
    # Python
    (
        "reminders",
        '.select("customer", "order")',
        '.select(F.udf(str.upper)("customer"), "order")',
        "python-udf",
        'F.udf(str.upper)("customer")',
    ),
    ("delays", "self.value(me.patience).sql", "int(self.value(me.patience).sql)", "logic-raises", "int(self.value"),
]


@pytest.fixture
def checked(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Provide copies of applications and their verification."""
    return Checked(spark, tmp_path, monkeypatch)


class Checked:
    """Copies of applications, and the verification of the logic in them."""

    def __init__(self, spark: SparkSession, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._check = LogicChecker(spark, directory / "scratch")
        self.directory = directory / "application"
        self._monkeypatch = monkeypatch

    def copy(self, application: str) -> Path:
        """Copy an application, and make the copy the working directory."""
        shutil.copytree(
            APPLICATIONS[application], self.directory, ignore=shutil.ignore_patterns(".flow", "__pycache__", "out")
        )
        self._monkeypatch.chdir(self.directory)
        return self.directory

    def verified(self, *refs: str) -> Verification:
        """Verify the copy with the logic of some streamlets; without names, with the logic of all."""

        def check(application: BuildableApplication) -> BuiltLogic:
            selected = tuple(item for item in application.streamlets if not refs or item.plan.ref in refs)
            assert len(selected) == len(refs) or not refs
            return self._check(replace(application, streamlets=selected))

        return verify(
            "blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=self.directory, logic=check
        )


QUERIES = {
    "shop": {
        "archive.sink": DescribedQuery(("in",)),
        "bestsellers.bestsellers": DescribedQuery(("orders",), ("stateStoreSave",)),
        "board.clicks": DescribedQuery(("clicks",)),
        "clicks.clicks": DescribedQuery(("clicks",)),
        "once.seen": DescribedQuery(("clicks",), ("dedupeWithinWatermark",)),
        "paid.paid": DescribedQuery(("orders", "payments"), ("symmetricHashJoin",)),
        "valid.rejected.valid": DescribedQuery(("orders",)),
        "visits.visits": DescribedQuery(("clicks",), ("sessionWindowStateStoreSaveExec",)),
    },
}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_valid_applications_have_no_findings(application: str, checked: Checked) -> None:
    """Without mistakes the logic has no findings, and its queries are described."""
    checked.copy(application)
    verification = checked.verified()
    assert verification.diagnostics == ()
    built = {f"{ref}.{name}": query for ref, queries in verification.queries.items() for name, query in queries.items()}
    assert {name: query.described for name, query in built.items()}.items() >= QUERIES.get(application, {}).items()
    assert all(query.place is not None for name, query in built.items() if not name.endswith(".sink"))


@pytest.mark.parametrize(
    ("ref", "old", "new", "code", "at"),
    MISTAKES,
    ids=[f"{number}-{mistake[3]}" for number, mistake in enumerate(MISTAKES)],
)
def test_a_mistake_has_one_finding(ref: str, old: str, new: str, code: str, at: str, checked: Checked) -> None:
    """The finding has the code of the mistake, and its line and column."""
    application, file = FILES.get(ref, ("shop", "shop.py"))
    path = checked.copy(application) / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    assert at in text
    before = text[: text.index(at)]
    expected = (code, file, before.count("\n") + 1, len(before) - before.rfind("\n"))
    findings = [
        (finding.code, finding.primary.span.file, finding.primary.span.line, finding.primary.span.column)
        for finding in checked.verified(ref).diagnostics
        if finding.primary
    ]
    assert findings == [expected]
