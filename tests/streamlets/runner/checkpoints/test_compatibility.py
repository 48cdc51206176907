"""A query that is incompatible with its checkpoint is refused before it starts, with help."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.plan import StreamletPlan
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.api.context import StreamingWrite
from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.checkpoints.compatibility import CheckpointMisfitError, require_compatible
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.site import Site, SiteContext
from streamlets.spark.fatal import fatal
from streamlets.spark.listener import QueryListener
from streamlets.spark.plan_tree import PlanNode, parse_tree
from streamlets.spark.session import Spark
from tests.streamlets.runner.checkpoints.test_checkpoint import CONF, written

SOURCE = "+- ~StreamingRelationV2 rate, [timestamp#0, value#1L]"
AGGREGATE = f"~Aggregate [value#1L], [value#1L, count(1) AS count#4L]\n{SOURCE}"
DEDUPLICATE = f"~Deduplicate [value#1L]\n{SOURCE}"
PLAIN = f"~Project [value#1L]\n{SOURCE}"
JOIN = "~Join Inner, (a#1 = b#3)\n:- ~StreamingRelationV2 rate, [a#1]\n+- ~StreamingRelationV2 rate, [b#3]"
LOOKUP = "~Join Inner, (a#1 = b#3)\n:- ~StreamingRelationV2 rate, [a#1]\n+- Aggregate [b#3], [b#3]\n   +- LocalRelation"
LIMITED = f"~GlobalLimit 5\n{SOURCE}"


def checkpoint(root: Path, *operators: str, committed: int = 0, evolution: bool = True) -> Checkpoint:
    """Write and read a checkpoint of `s.q` with the state of some operators."""
    CONF[SOURCE_EVOLUTION] = str(evolution).lower()
    directory = written(root, "s.q", {0: {"a": "{}"}}, committed)
    for number, name in enumerate(operators):
        metadata = directory / "state" / str(number) / "_metadata"
        metadata.mkdir(parents=True)
        note = {"operatorInfo": {"operatorId": number, "operatorName": name}, "stateStoreInfo": []}
        (metadata / "metadata").write_text("v1\n" + json.dumps(note))
    return read_checkpoint(directory)


@pytest.mark.parametrize(
    ("held", "plan"),
    [
        ((), PLAIN),
        ((), LOOKUP),
        (("dedupe",), DEDUPLICATE),
        (("stateStoreSave",), AGGREGATE),
        (("symmetricHashJoin",), JOIN),
        (("somethingNew",), PLAIN),
        ((), LIMITED),
    ],
)
def test_an_unchanged_query_is_compatible(tmp_path: Path, held: tuple[str, ...], plan: str) -> None:
    """So is a query whose operators cannot be determined."""
    require_compatible(checkpoint(tmp_path, *held), parse_tree(plan), source_evolution=True)


@pytest.mark.parametrize(
    ("held", "plan", "why"),
    [
        ((), DEDUPLICATE, "the checkpoint has no state, the query has `dropDuplicates`"),
        (("dedupe",), PLAIN, "the checkpoint has the state of `dropDuplicates`, the query has no state"),
        (("dedupe",), AGGREGATE, "the checkpoint has the state of `dropDuplicates`, the query has an aggregation"),
        (
            ("stateStoreSave", "dedupe"),
            AGGREGATE,
            "the state of `dropDuplicates` and an aggregation, the query has an aggregation",
        ),
        (("symmetricHashJoin",), LOOKUP, "the state of a stream-stream join, the query has no state"),
    ],
)
def test_added_or_removed_operators_are_refused(tmp_path: Path, held: tuple[str, ...], plan: str, why: str) -> None:
    """The error has both states and help; no restart is tried."""
    with pytest.raises(CheckpointMisfitError) as refused:
        require_compatible(checkpoint(tmp_path, *held), parse_tree(plan), source_evolution=True)
    assert why in str(refused.value)
    assert "`flow checkpoints reset s.q`" in str(refused.value)
    assert fatal({"CheckpointMisfitError", "StreamletError"}, building=False)


def test_source_evolution_cannot_be_switched(tmp_path: Path) -> None:
    """Spark cannot add names to the sources of a checkpoint, nor remove them."""
    unnamed = checkpoint(tmp_path, evolution=False)
    require_compatible(unnamed, parse_tree(PLAIN), source_evolution=False)
    with pytest.raises(CheckpointMisfitError, match="written with `source-evolution` off, which is now on"):
        require_compatible(unnamed, parse_tree(PLAIN), source_evolution=True)


def test_every_query_is_compatible_with_a_checkpoint_without_a_committed_batch(tmp_path: Path) -> None:
    """A planned batch does not matter."""
    require_compatible(checkpoint(tmp_path, "dedupe", committed=-1), parse_tree(PLAIN), source_evolution=False)


@pytest.mark.spark
def test_no_query_is_started_on_an_incompatible_checkpoint(spark: Any, tmp_path: Path) -> None:
    """The runner checks before it starts a query; the checkpoint is unchanged."""
    name = f"misfit_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "from streamlets import SparkStreamlet, SparkStreamletLogic\n\n"
        "class Rates(SparkStreamlet):\n    class Logic(SparkStreamletLogic):\n"
        "        def build_streaming_queries(self):\n"
        "            return self.query('q', self.source('rate', format='rate').writeStream.format('noop'))\n"
    )
    checkpoint(tmp_path / "checkpoints", "dedupe")
    before = sorted((tmp_path / "checkpoints").rglob("*"))
    process: subprocess.Popen[bytes] = spark.sparkContext._gateway.proc
    running = Spark(spark, process)
    keeper: Any = SimpleNamespace(spark=lambda: running, alive=True, failure=lambda: None)
    descriptor: Any = None
    plan = StreamletPlan(
        ref="s",
        class_name=f"{name}.Rates",
        descriptor=descriptor,
    )
    context = SiteContext(
        application="app", directory=str(tmp_path), spark=keeper, topics={}, channels={},
        checkpoints=tmp_path / "checkpoints", listener=QueryListener(), report=lambda fact: None,
    )  # fmt: skip
    site = Site(plan, context)
    (write,) = site.build(UnitId("s"))
    assert isinstance(write, StreamingWrite)
    with pytest.raises(CheckpointMisfitError, match=r"s\.q is incompatible with its checkpoint: .* has the state of"):
        site.start(write)
    assert sorted((tmp_path / "checkpoints").rglob("*")) == before


def test_a_plan_is_read_as_spark_prints_it() -> None:
    """The strings above are plans."""
    tree: PlanNode = parse_tree(LOOKUP)
    assert (tree.name, [child.streaming for child in tree.children]) == ("Join", [True, False])
