"""Events of fused topics: which streamlets became one query, and which did not although their topic allows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamlets.runner.events.event import Event, Importance, UnitEvent
from streamlets.runner.events.status import RunStatus


@dataclass(frozen=True, slots=True)
class StreamletsFused(Event):
    """Streamlets are one query in this run, and are paused, resumed and restarted together.

    Arguments:
        streamlets: their names, producers first. The query is the one of the first.
        topics: the topics between them, whose records are not stored.
    """

    usually = Importance.STEP

    streamlets: tuple[str, ...]
    topics: tuple[str, ...]

    @property
    def line(self) -> str:
        first, *others = self.streamlets
        return f"{', '.join(others)}: fused into the query of {first}, without storing {', '.join(self.topics)}"

    def changed(self, status: RunStatus) -> RunStatus:
        others = tuple(fused for fused in status.fused if not set(fused) & set(self.streamlets))
        return replace(status, fused=(*others, self.streamlets))


@dataclass(frozen=True, slots=True)
class TopicsNotFused(UnitEvent):
    """The topics after a streamlet are stored in this run, although they need not be durable; `why` is the reason."""

    usually = Importance.NOTICE

    topics: tuple[str, ...]
    why: str

    @property
    def line(self) -> str:
        return f"{self.unit}: {', '.join(self.topics)} is stored, and not fused, in this run: {self.why}"
