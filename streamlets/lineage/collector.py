"""`LineageCollector`: takes the lineage of streamlets while their logic is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlets.lineage.model import StreamletLineage
from streamlets.lineage.streamlet_lineage import lineage_of

if TYPE_CHECKING:
    from streamlets.plans.built_streamlet import BuiltStreamlet


class LineageCollector:
    """Observes the streamlets whose logic is built.

    Attributes:
        streamlets: the lineage by streamlet.
    """

    def __init__(self) -> None:
        self.streamlets: dict[str, StreamletLineage] = {}

    def __call__(self, built: BuiltStreamlet) -> None:
        """Take the lineage of a streamlet, while its session is the active one."""
        self.streamlets[built.plan.ref] = lineage_of(built)
