"""The replicas of a streamlet: the Spark settings of its session, and the warnings about what limits them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from blueprint.plan import StreamletPlan
from blueprint.wording import counted
from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.compatibility import keeps_state
from streamlets.spark.real_time import task_slots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamlets.runner.checkpoints.checkpoint import Checkpoint
    from streamlets.spark.plan_tree import PlanNode

_SHUFFLE = "spark.sql.shuffle.partitions"


def session_settings(replicas: int | None, application: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings by which queries have as many tasks as a streamlet has replicas.

    Spark splits files by their size, and would not split small ones: with an open cost of 0 it divides their bytes
    evenly. Topics and tasks of batch sources are split by their sources.

    Arguments:
        replicas: the number of replicas; None if it is not set.
        application: the Spark settings of the application, which take precedence.
    """
    if replicas is None:
        return {}
    settings = {
        _SHUFFLE: str(replicas),
        "spark.sql.files.minPartitionNum": str(replicas),
        "spark.sql.files.maxPartitionNum": str(replicas),
        "spark.sql.files.openCostInBytes": "0",
    }
    return {key: value for key, value in settings.items() if key not in application}


def limits(replicas: int, session: SparkSession, checkpoint: Checkpoint, plan: PlanNode) -> Iterator[str]:
    """Yield what keeps the replicas of a query from working side by side, one sentence each.

    Arguments:
        session: the session of the query.
        checkpoint: the checkpoint that it continues from.
        plan: its analyzed plan.
    """
    slots = task_slots(session)
    if slots is not None and replicas > slots:
        yield (
            f"it has {counted(replicas, 'replica')}, but Spark runs {counted(slots, 'task')} at the same time: the "
            f"others wait for a core (`--master {session.sparkContext.master}`)"
        )
    fixed = checkpoint.committed.settings.get(_SHUFFLE) if checkpoint.committed is not None else None
    if fixed is not None and str(replicas) == session.conf.get(_SHUFFLE) != fixed and keeps_state(plan):
        yield (
            f"{counted(replicas, 'replica reads', 'replicas read')} its sources, and {counted(int(fixed), 'task')} "
            f"{'keeps' if fixed == '1' else 'keep'} its state, as its checkpoint began with that number: to change it, "
            f"stop the run and reset the checkpoint with `flow checkpoints reset {checkpoint.name}`, which loses the "
            "state"
        )


def require_no_replicas(write: StreamingWrite, plan: StreamletPlan) -> None:
    """Check that a streamlet with a real-time query has no replicas: a task would read its first partition for ever.

    Raises:
        StreamletError: it has.
    """
    if plan.settings.replicas is not None:
        raise StreamletError(
            f"the query `{write.query}` has a real-time trigger, and `{plan.ref}` has `replicas`: in real-time mode "
            "each partition of a topic has a task of its own; remove `replicas`, or use a `processing-time` trigger",
            write.place,
            code="real-time-plan",
        )
