"""How far before a range a streamlet must read: computed from the plans of its queries."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from cli.application import Application
from streamlets.backfills.plan import backfill_plan, streamlet_of
from streamlets.backfills.warm_up import Queries
from streamlets.lineage.buildable import buildable_application
from streamlets.plans import LogicChecker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HEAD = """
from pyspark.sql import functions as F
from streamlets import AvroInlet, AvroOutlet, Queries, SparkStreamlet, SparkStreamletLogic

EVENT = "id long not null, at timestamp not null, key string not null, value long not null"

class Source(SparkStreamlet):
    out = AvroOutlet(schema=EVENT)
    other = AvroOutlet(schema=EVENT)

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            raise NotImplementedError
"""

CLASS = """
class {name}(SparkStreamlet):
    events = AvroInlet(schema=EVENT)
    others = AvroInlet(schema=EVENT)
    out = AvroOutlet(schema="key string")

    class Logic(SparkStreamletLogic["{name}"]):
        def build_streaming_queries(self):
            me = self.streamlet
            events, others = self.read_stream(me.events), self.read_stream(me.others)
            marked = events.withWatermark("at", "5 minutes")
            other = others.withWatermark("at", "1 hour 30 minutes").select(
                F.col("key").alias("k"), F.col("at").alias("t"), "id")
            mode = "append"
{body}
            return self.write_stream(rows.select("key"), me.out, output_mode=mode){more}
"""

MINUTE = 60.0
_TEN = "marked.groupBy(F.window('at', '10 minutes'), 'key').count()"
CASES: dict[str, tuple[str, float | None]] = {
    "Stateless": ("rows = events.where('value > 1')", 0.0),
    "Tumbling": (f"rows = {_TEN}", 20 * MINUTE),
    "Sliding": ("rows = marked.groupBy(F.window('at', '1 hour', '5 minutes'), 'key').count()", 70 * MINUTE),
    "Twice": (
        f"rows = {_TEN}.groupBy(F.window('window', '1 hour'), 'key').count()", (60 + 5) * 2 * MINUTE + 5 * MINUTE,
    ),
    "Sessions": ("rows = marked.groupBy(F.session_window('at', '10 minutes'), 'key').count()", None),
    "Endless": ("rows = events.groupBy('key').count()\nmode = 'update'", None),
    "Complete": (f"rows = {_TEN}\nmode = 'complete'", None),
    "Keyed": ("rows = marked.groupBy('key').count()\nmode = 'update'", None),
    "Once": ("rows = marked.dropDuplicatesWithinWatermark(['id'])", 15 * MINUTE),
    "Distinct": ("rows = marked.dropDuplicates(['id', 'at'])", 10 * MINUTE),
    "Ever": ("rows = marked.dropDuplicates(['id'])", None),
    "Joined": (
        "rows = marked.join(other, F.expr('key = k AND t BETWEEN at - INTERVAL 1 HOUR AND at + INTERVAL 10 MINUTES'))",
        (70 + 180) * MINUTE,
    ),
    "Unlimited": ("rows = marked.join(other, F.expr('key = k'))", None),
    "Unmarked": ("rows = events.join(others.select(F.col('key').alias('k')), F.expr('key = k'))", None),
}  # fmt: skip

OUTSIDE = "Outside"
CASES[OUTSIDE] = ("rows = events", 0.0)


def _more(name: str) -> str:
    """Return a further query of a case, which writes outside of the outlets."""
    return ', self.query("side", events.writeStream.format("noop"))' if name == OUTSIDE else ""


BLUEPRINT = """
flow.application = app
blueprint {
  streamlets { source = logics.Source, STREAMLETS }
  topics {
    events { producers = [source.out], consumers = [EVENTS] }
    others { producers = [source.other], consumers = [OTHERS] }
  }
  OUTS
}
"""


@pytest.fixture(scope="module")
def needs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Queries]:
    """The queries of each case, all built in one session."""
    directory = tmp_path_factory.mktemp("logics")
    classes = [
        CLASS.format(name=name, body=textwrap.indent(body, " " * 12), more=_more(name))
        for name, (body, _) in CASES.items()
    ]
    (directory / "logics.py").write_text(HEAD + "".join(classes))
    names = [name.lower() for name in CASES]
    text = BLUEPRINT.replace("STREAMLETS", ", ".join(f"{name.lower()} = logics.{name}" for name in CASES))
    text = text.replace("EVENTS", ", ".join(f"{name}.events" for name in names))
    text = text.replace("OTHERS", ", ".join(f"{name}.others" for name in names))
    text = text.replace("OUTS", "\n  ".join(f"topics.to-{name}.producers = [{name}.out]" for name in names))
    (directory / "blueprint.conf").write_text(text)
    verification = Application(directory / "blueprint.conf", (), ()).verify()
    assert verification.plan is not None, verification.diagnostics
    found = {}
    for name in names:
        plan = backfill_plan(verification.plan, streamlet_of(verification.plan, name))
        found[name] = queries = Queries()
        built = LogicChecker(spark, directory / name, observe=queries)(buildable_application(plan))
        assert queries.needs, built.findings
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_time_before_a_range(needs: dict[str, Queries], name: str) -> None:
    """It covers what the state keeps; without a limit that is known, it is everything."""
    need = needs[name.lower()].needs[0]
    assert need.seconds == CASES[name][1], need
    assert bool(need.reason) == (need.seconds != 0)
    assert needs[name.lower()].outside == (["side"] if name == OUTSIDE else [])
