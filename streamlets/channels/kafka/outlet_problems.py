"""What `flow verify` reports about outlets with a real-time trigger."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.catalog import OutletSettings, TopicProblem
from streamlets.channels.kafka.settings import GUARANTEE, STAGED


def outlet_problems(outlet: OutletSettings) -> Iterator[TopicProblem]:
    """Yield why an outlet cannot be written by a query with its trigger."""
    name, once = f"`{outlet.streamlet}.{outlet.name}`", GUARANTEE.of(outlet.options) == "exactly-once"
    if outlet.real_time and once:
        yield TopicProblem(
            "real-time-plan",
            (GUARANTEE.key,),
            f"the outlet {name} is written exactly once, and with a real-time trigger",
            causes=("there is no batch to store before it is sent in transactions",),
            help=("use a `processing-time` trigger", "set `guarantee = at-least-once`"),
        )
    if outlet.real_time and STAGED.of(outlet.options):
        yield TopicProblem(
            "real-time-plan",
            (STAGED.key,),
            f"the outlet {name} is staged, and is written with a real-time trigger",
            causes=("there is no batch to stage",),
            help=("use a `processing-time` trigger", "set `staged = false`"),
        )
