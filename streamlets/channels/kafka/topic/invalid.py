"""`InvalidMessages`: messages of a topic that are not records, for the dead letters of inlets."""

from __future__ import annotations

import datetime
import json
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan
from streamlets.channels.base import InvalidRecord, Position
from streamlets.channels.kafka.horizon import Horizon, StoredHorizon
from streamlets.channels.kafka.offsets import ranges
from streamlets.channels.kafka.topic.messages import TopicMessages
from streamlets.channels.records import conversion
from streamlets.channels.unreadable import UnreadableRecordsError
from streamlets.contract.values import RecordError
from streamlets.contract.wire.errors import TOMBSTONE, UndecodableError, WireError
from streamlets.contract.wire.format import WireFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE = 1000
_HORIZONS = threading.Lock()  # horizons are files, which sources and their dead letters replace


@dataclass(frozen=True, slots=True)
class InvalidMessages:
    """The messages that inlets omit, as their horizons decide.

    Arguments:
        messages: the messages of the topic.
        inlets: the directory of what is stored for inlets in the state directory.
    """

    messages: TopicMessages
    inlets: Path

    def advanced_horizon(self, inlet: InletPlan) -> Horizon:
        """Return the horizon of an inlet with the schemas that are known now, and store it."""
        from streamlets.channels.kafka.source import headers_of

        stored, ends = self._horizon(inlet), self.messages.latest()
        headers = [header.hex() for header in headers_of(self.messages.stored)]
        with _HORIZONS:
            horizon = stored.read().advanced(headers, ends)
            stored.write(horizon)
        return horizon

    def between(
        self, session: SparkSession, inlet: InletPlan, after: Position | None, until: Position
    ) -> Iterator[tuple[list[InvalidRecord], Position]]:
        """Yield the messages that an inlet omits; see `TopicResource.invalid` for the arguments."""
        from streamlets.channels.kafka.source import invalid_messages

        name, end = self.messages.stored.name, self.messages.offsets(until)
        reached = {number: min(at, end.get(number, 0)) for number, at in self.messages.start(after).items()}
        stored = self._horizon(inlet)
        horizon = stored.read()
        records: list[InvalidRecord] = []
        unknown: set[str] = set()
        for row in invalid_messages(self.messages.stored, session, inlet, ranges(reached, end), horizon):
            if len(records) == _AT_ONCE:
                yield records, self.messages.position(reached)
                records = []
            records.append(InvalidRecord(f"{name}/{row.partition}/{row.offset}", _json(row), row.reason))
            reached = reached | {row.partition: row.offset + 1}
            unknown |= {row.header} if row.header is not None else set()
        if unknown:
            _store_unknown(stored, unknown)
        yield records, self.messages.position(reached | dict(end))

    def _horizon(self, inlet: InletPlan) -> StoredHorizon:
        topic = self.messages.stored
        return StoredHorizon(
            self.inlets / inlet.streamlet / f"{inlet.name}.json", topic.cluster.existing(topic.name).id
        )


def decoded(content: str, wire: WireFormat, contract: Contract) -> dict[str, Any]:
    """Return a message as a record by the schemas that are known now.

    Arguments:
        content: the content of its `InvalidRecord`.
        wire: the format of the topic.
        contract: the contract to read with.

    Raises:
        RecordError: it is still not a record.
    """
    value = json.loads(content)["value"]
    try:
        if value is None:
            raise UndecodableError(TOMBSTONE)
        record = wire.decode(b64decode(value))
        rows = wire.rows(record.contract, [record.value])
        row: dict[str, Any] = conversion(record.contract, contract)(rows).to_pylist()[0]
    except (WireError, UnreadableRecordsError) as error:
        raise RecordError(str(error)) from None
    return row


def _store_unknown(stored: StoredHorizon, headers: Iterable[str]) -> None:
    """Store the headers of dead letters, so that later messages with them do not stop the query."""
    with _HORIZONS:
        earlier = stored.read()
        later = earlier.with_unknown(headers)
        if later != earlier:
            stored.write(later)


def _json(row: Any) -> str:
    """Return a message as JSON, its bytes in base64."""
    content = {
        "timestamp": row.timestamp.astimezone(datetime.UTC).isoformat(),
        "key": _base64(row.key),
        "value": _base64(row.value),
        "headers": [[header.key, _base64(header.value)] for header in row.headers or ()],
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _base64(data: bytes | None) -> str | None:
    return b64encode(data).decode() if data is not None else None
