"""The executors of a Spark as a line of `flow status`."""

from __future__ import annotations

from cli.output.executors import executors_line
from streamlets.runner.events.executors import Executors


def test_the_line_has_the_number_and_what_is_wrong() -> None:
    """A cluster in order has only its size."""
    refs = ("a",)
    lines = [
        executors_line(executors, 100.0)
        for executors in (
            Executors(streamlets=refs, number=3, cores=6),
            Executors(streamlets=refs, number=2, cores=1, lost=1),
            Executors(streamlets=refs, lost=3, missing_since=40.0, master_lost_since=10.0),
        )
    ]
    assert lines == [
        "3 with 6 cores",
        "2 with 1 core; 1 lost since the start of Spark",
        "none for 1 min; 3 lost since the start of Spark; the master has not answered for 1 min 30 s",
    ]
