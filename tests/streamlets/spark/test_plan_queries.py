"""Sources and stateful operators are read from plans as Spark prints them."""

from __future__ import annotations

import pytest

from blueprint.comparison import DescribedQuery
from streamlets.spark.plan_queries import described
from streamlets.spark.plan_tree import parse_tree

RATE = "~StreamingRelationV2 sources.RateStreamProvider@1d97, rate, sources.RateStreamTable@67ff, [a#1, b#2L]"
SOURCE = f'{RATE}, name="ticks"'
TABLE = "Relation [c#3] parquet"


@pytest.mark.parametrize(
    ("plan", "mode", "operators"),
    [
        (f"~Project [a#1]\n+- {SOURCE}", "append", ()),
        (f"~Aggregate [a#1], [a#1, count(1) AS n#3L]\n+- {SOURCE}", "update", ("stateStoreSave",)),
        (f"~Aggregate [count(1) AS n#3L]\n+- {SOURCE}", "complete", ("stateStoreSave",)),
        (f"~Aggregate [session_window#4-T60ms, a#1], [count(1) AS n#3L]\n+- {SOURCE}", "append",
         ("sessionWindowStateStoreSaveExec",)),
        (f"~Deduplicate [a#1]\n+- {SOURCE}", "append", ("dedupe",)),
        (f"~GlobalLimit 5\n+- ~LocalLimit 5\n   +- {SOURCE}", "append", ("globalLimit",)),
        (f"~GlobalLimit 5\n+- ~LocalLimit 5\n   +- {SOURCE}", "complete", ()),
        (f"~Aggregate [a#1], [a#1]\n+- ~DeduplicateWithinWatermark [b#2L]\n   +- {SOURCE}", "append",
         ("dedupeWithinWatermark", "stateStoreSave")),
        (f"~Join Inner, (a#1 = c#3)\n:- {SOURCE}\n+- Aggregate [c#3], [c#3]\n   +- {TABLE}", "append", ()),
    ],
)  # fmt: skip
def test_operators_on_streams_keep_state(plan: str, mode: str, operators: tuple[str, ...]) -> None:
    """They have the names that Spark stores in a checkpoint; operators on tables are not stateful."""
    assert described(parse_tree(plan), mode, named=True) == DescribedQuery(("ticks",), operators)


def test_sources_have_names_unless_source_evolution_is_off() -> None:
    """The names of two streams are sorted; without names in the checkpoint there is nothing to compare."""
    tree = parse_tree(f'~Join Inner, (a#1 = a#5)\n:- {SOURCE}\n+- {RATE}, name="clicks"')
    assert described(tree, "append", named=True) == DescribedQuery(("clicks", "ticks"), ("symmetricHashJoin",))
    assert described(tree, "append", named=False).sources is None
