"""`Kind`: what runs a streamlet, and what the language must know about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of streamlets. Their base class sets it.

    Arguments:
        name: the name under which the runtime finds what runs them.
        on_spark: whether they have queries on Spark.
        completes: whether they may complete without a request, as a program does.
        tasks: whether each has a topic of tasks, and failed tasks are dead letters.
        transactions: whether their outlets deliver transactions, which readers should get whole.
        command: the key of the parameter with the command line of a program that runs them; "" for none.
    """

    name: str
    on_spark: bool = False
    completes: bool = False
    tasks: bool = False
    transactions: bool = False
    command: str = ""


SPARK = Kind("spark", on_spark=True)
"""The kind of streamlets that are queries on Spark, and nothing else."""
