"""`UnstartedQuery`: the result of `start()` while logic is built."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from streamlets.api.errors import StreamletError

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from streamlets.api.source_location import SourceLocation


class UnstartedQuery:
    """A query that was not started, with the interface of Spark's `StreamingQuery`; waiting for it is an error.

    Arguments:
        writer: the writer of the query.
        name: the name of the query in the author's code, if any.
        place: the location of the author's call.
    """

    isActive = False  # noqa: N815 - Spark's name
    lastProgress = None  # noqa: N815

    def __init__(self, writer: DataStreamWriter, name: str | None, place: SourceLocation | None) -> None:
        self.writer = writer
        self.name = name
        self.place = place
        self.id = self.runId = str(uuid.uuid4())
        self.recentProgress: list[Any] = []
        self.status = {"message": "not started", "isDataAvailable": False, "isTriggerActive": False}

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Reject the call.

        Raises:
            StreamletError: always.
        """
        raise _waiting_error("awaitTermination")

    def processAllAvailable(self) -> None:  # noqa: N802
        """Reject the call.

        Raises:
            StreamletError: always.
        """
        raise _waiting_error("processAllAvailable")

    def exception(self) -> None:
        """Return None, because the query never ran."""

    def stop(self) -> None:
        """Do nothing, because the query never ran."""

    def explain(self, extended: bool = False) -> None:
        """Do nothing, because the query never ran."""


def _waiting_error(method: str) -> StreamletError:
    return StreamletError(
        f"`{method}` waits for a query while the logic is built: return the query, because the runner waits for it",
        code="action-in-logic",
    )
