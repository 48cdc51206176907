"""Notes about topics that need not be durable but cannot be fused."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, finding
from blueprint.fusion import Fusion
from blueprint.model.draft import Draft


def not_fused(draft: Draft, fusion: Fusion) -> Iterator[Diagnostic]:
    """Yield a note for each topic with `durable = false` that is stored nevertheless, with the reason.

    Arguments:
        draft: the application.
        fusion: the result of the pass over its plan.
    """
    for id, reason in sorted(fusion.refusals.items()):
        yield finding(
            "topic-not-fused",
            f"the topic `{id}` is stored, although it need not be durable",
            draft.topic_key(id, "durable"),
            causes=(reason,),
            help=("remove `durable = false`, or change what prevents that its streamlets become one query",),
        )
