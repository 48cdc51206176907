"""Writers that publish their schemas at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.avro.model import Contract
from streamlets.channels.kafka.schemas import PublishedSchemas, SchemaConflictError
from streamlets.contract.wire.avro_formats import schema_fingerprint
from tests.streamlets.channels.kafka.test_internal_names import Log
from tests.streamlets.channels.topics import READING, contract

MILLIS, MICROS = (
    contract(("at", {"type": "long", "logicalType": f"timestamp-{unit}"}), name="Event")
    for unit in ("millis", "micros")
)
KEY = f"t/{schema_fingerprint(MILLIS)}".encode()


def schemas(log: Log, directory: Path) -> PublishedSchemas:
    """Return the schemas as a process knows them that has its own state directory."""
    cluster: Any = log
    return PublishedSchemas(cluster, directory)


def published(log: Log, directory: Path, written: Contract) -> str:
    """Publish a schema as another process does; return "" or the error."""
    try:
        schemas(log, directory).publish("t", [written])
    except SchemaConflictError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("hidden", [0, 3])
@pytest.mark.parametrize("winner", [MILLIS, MICROS], ids=["millis", "micros"])
def test_of_two_schemas_with_one_fingerprint_the_first_in_the_log_is_that_of_the_topic(
    tmp_path: Path, winner: Contract, hidden: int
) -> None:
    """Neither writer has seen the other's. The second one is refused before it sends a message, and every reader
    has the first one, whatever it has read of the log; also after compaction."""
    log, outcome = Log(hidden), dict[str, str]()
    moment = log.before_send if winner is MICROS else log.after_send
    moment.append(lambda: outcome.update(micros=published(log, tmp_path / "micros", MICROS)))
    outcome["millis"] = published(log, tmp_path / "millis", MILLIS)
    refused = "micros" if winner is MILLIS else "millis"
    assert "`Event` of a writer of the topic `t` differs from an earlier one" in outcome.pop(refused)
    assert [*outcome.values()] == [""]
    for end in range(1, len(log.messages_sent) + 1):
        seen = Log()
        seen.messages_sent = log.messages_sent[:end]
        assert schemas(seen, tmp_path / "reader").of("t") == {schema_fingerprint(winner): winner}
    compacted = Log()
    compacted.messages_sent = log.messages_sent[-1:]
    for directory in ("millis", "micros", "reader"):
        assert schemas(compacted, tmp_path / directory).of("t") == {schema_fingerprint(winner): winner}


def test_writers_of_one_schema_may_publish_at_the_same_time(tmp_path: Path) -> None:
    """Both entries are the same."""
    log, outcome = Log(), dict[str, str]()
    log.before_send.append(lambda: outcome.update(other=published(log, tmp_path / "a", READING)))
    assert published(log, tmp_path / "b", READING) == ""
    assert outcome == {"other": ""}


def test_a_topic_that_was_removed_has_the_schema_of_its_next_writer(tmp_path: Path) -> None:
    """The first one since then."""
    log = Log()
    known = schemas(log, tmp_path)
    known.publish("t", [MILLIS])
    known.remove("t")
    known.publish("t", [MICROS])
    assert log.messages_sent == [(KEY, MILLIS.json.encode()), (KEY, None), (KEY, MICROS.json.encode())]
    assert schemas(log, tmp_path / "reader").of("t") == {schema_fingerprint(MICROS): MICROS}
