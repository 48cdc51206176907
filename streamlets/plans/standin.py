"""What logic gets in place of a query that it starts itself."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from streamlets.api.errors import StreamletError

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from streamlets.api.declared import Declared


class StreamingQuery:
    """A query that was not started: it has Spark's names, and waiting for it is a mistake.

    Arguments:
        writer: what would have been started.
        name: given by the author, if any.
        place: where the author starts it.
    """

    isActive = False  # noqa: N815 - Spark's name
    lastProgress = None  # noqa: N815

    def __init__(self, writer: DataStreamWriter, name: str | None, place: Declared | None) -> None:
        self.writer = writer
        self.name = name
        self.place = place
        self.id = self.runId = str(uuid.uuid4())
        self.recentProgress: list[Any] = []
        self.status = {"message": "not started", "isDataAvailable": False, "isTriggerActive": False}

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Refused.

        Raises:
            StreamletError: always.
        """
        raise _waits("awaitTermination")

    def processAllAvailable(self) -> None:  # noqa: N802
        """Refused.

        Raises:
            StreamletError: always.
        """
        raise _waits("processAllAvailable")

    def exception(self) -> None:
        """None: it never ran."""

    def stop(self) -> None:
        """Nothing: it never ran."""

    def explain(self, extended: bool = False) -> None:
        """Nothing: it never ran."""


def _waits(called: str) -> StreamletError:
    return StreamletError(
        f"`{called}` waits for a query while the logic is built: return the query instead, and the runner waits for it",
        code="action-in-logic",
    )
