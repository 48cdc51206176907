"""Messages that are not records: an inlet fails, or writes them to the dead letters, once each."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.plan import OutletPlan
from streamlets.runner.dead_letters.letters import letters_in
from streamlets.runner.dead_letters.replay import Outlets, Replayed, replay
from streamlets.runner.units.followups import FILE
from tests.streamlets.channels.benches import KafkaBench, kafka_bench
from tests.streamlets.channels.kafka.readers import message, opened, send
from tests.streamlets.channels.topics import READING, WIDER, add, contract, ids_of
from tests.streamlets.contract.wire.registry_stand_in import registry_stand_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FOREIGN = contract(("id", "long"), ("src", ["null", "string"]), ("foreign", ["null", "int"]))


@pytest.fixture
def kafka(request: pytest.FixtureRequest, tmp_path: Path) -> KafkaBench:
    """Return the channel in a new directory."""
    return kafka_bench(request, tmp_path)


def test_each_invalid_message_is_one_dead_letter(kafka: KafkaBench, own_session: SparkSession) -> None:
    """It has the place, the bytes and the reason, also after kills at any point; the other records are read once."""
    reader = opened(kafka, own_session)
    one, two, three = (message(reader, id) for id in (1, 2, 3))
    unknown = b"\xc3\x01abcdefgh" + one[10:]
    broken = [b"garbage", two[:-1], unknown, None, one[:4], b""]
    send(reader, one, *broken, two)
    assert reader.run(follow=False) == 6  # killed before its dead letters are written
    assert reader.letters() == []
    send(reader, b"more garbage", three)
    assert reader.run() == 1
    assert reader.ids == [1, 2, 3]
    assert reader.offsets() == [1, 2, 3, 4, 5, 6, 8]
    letter, *_ = reader.letters()
    assert (letter["port"], letter["version"]) == ("reader.in", "1.2")
    assert letter["coordinates"] == f"{reader.topic.name}/0/1"
    assert b64decode(json.loads(letter["record"])["value"]) == b"garbage"
    assert b64decode(json.loads(letter["record"])["key"]) == b"k"
    reasons = [letter["reason"] for letter in reader.letters()]
    assert reasons[1] == "the bytes are not a record of the schema in their header"
    assert reasons[2] == "no known schema has the header C3016162636465666768"
    assert reasons[3].startswith("the message has no value")

    # Killed after the dead letters, before the file: its last state is older than the marker of the letters' writer.
    file = reader.directory / "reader" / "q" / FILE
    file.write_text(json.dumps({"in": None}))
    assert reader.run() == 0
    assert reader.offsets() == [1, 2, 3, 4, 5, 6, 8]
    assert reader.ids == [1, 2, 3]
    assert reader.warnings == []


def test_a_schema_that_is_published_while_a_query_runs_is_read_after_a_restart(
    kafka: KafkaBench, own_session: SparkSession
) -> None:
    """A message with a new schema stops the query, which looks the schema up. It is a dead letter only if it is still
    unknown, and then such messages no longer stop the query."""
    reader = opened(kafka, own_session)
    unknown = b"\xc3\x01abcdefgh" + message(reader, 0)[10:]
    send(reader, message(reader, 1))
    frame = reader.frame()  # of a query that runs since before the next messages
    add(reader.topic, 0, [2], WIDER)
    send(reader, unknown)
    with pytest.raises(Exception, match=r"partition 0, offset 1: no known schema has the header C301"):
        frame.writeStream.foreachBatch(lambda rows, _: list.clear(rows.collect())).option(
            "checkpointLocation", str(kafka.directory / "other")
        ).trigger(availableNow=True).start().awaitTermination(600)
    assert reader.run() == 1
    assert reader.ids == [1, 2]
    assert len(reader.offsets()) == 1
    frame = reader.frame()
    send(reader, unknown, message(reader, 3))
    found: list[int] = []
    frame.writeStream.foreachBatch(lambda rows, _: found.extend(row.id for row in rows.collect())).option(
        "checkpointLocation", str(kafka.directory / "third")
    ).trigger(availableNow=True).start().awaitTermination(600)
    assert found == [1, 2, 3]


def test_a_decision_about_a_message_is_not_changed(kafka: KafkaBench, own_session: SparkSession) -> None:
    """A schema that is published after its messages are dead letters is read from then on, also if the dead letters
    are only written then: none is lost, and none is also a record. A replay decodes them, once."""
    reader = opened(kafka, own_session)
    early = message(reader, 7, FOREIGN)
    send(reader, message(reader, 1), early)
    reader.run(follow=False)
    reader.topic.publish([FOREIGN])
    send(reader, early)
    reader.run()
    assert reader.ids == [1, 7]
    assert reader.offsets() == [1]
    topics = {topic.name: topic for topic in (reader.topic, reader.letters_topic)}
    back = OutletPlan("reader", "in", None, READING, "in")
    outlets = Outlets({"reader.in": back}, topics.__getitem__, lambda _: reader.topic.name)
    for records in ({"reader.in": 1}, {}):
        assert replay(reader.letters_topic, outlets, lambda _: True) == Replayed(records)
    reader.run()
    assert reader.ids == [1, 7, 7]
    (letter,) = letters_in(reader.letters_topic)
    assert letter.origin == f"topic {reader.topic.name}, partition 0, offset 1"
    assert (letter.query, letter.batch, letter.replayed) == ("", "", True)


def test_an_inlet_without_dead_letters_fails(kafka: KafkaBench, own_session: SparkSession) -> None:
    """The error has the place of the message. Skipped tombstones are not messages."""
    reader = opened(kafka, own_session, {"tombstones": "skip"})
    reader.inlet = replace(reader.inlet, on_invalid="fail")
    send(reader, message(reader, 1), None)
    assert reader.run() == 0
    assert reader.ids == ids_of(reader.topic.scan(READING)) == [1]
    send(reader, b"x")
    with pytest.raises(Exception, match=rf"topic `{reader.topic.name}`, partition 0, offset 2: no known schema"):
        reader.run()


@pytest.mark.parametrize(
    "form", ["json", "confluent", *(pytest.param(form, marks=pytest.mark.full) for form in ("plain-avro", "bytes"))]
)
def test_each_format_has_dead_letters(form: str, kafka: KafkaBench, own_session: SparkSession) -> None:
    """Garbage, truncated messages and tombstones of each format; in bytes, those that are not text."""
    with registry_stand_in() as registry:
        options: dict[str, object] = {"format": form}
        if form == "confluent":
            options["schema-registry"] = {"url": registry.url}
        reader = opened(kafka, own_session, options)
        if form == "bytes":
            reader.inlet = replace(reader.inlet, contract=contract(("text", "string"), name="Text"))
            good, broken = b"text", [b"\xff\xfe", None]
        else:
            good = message(reader, 1)
            broken = [b"\xff\xff\xff\xff\xff\xff", good[: -len(good) // 2], None]
        send(reader, good, *broken, good)
        assert reader.run() == len(broken)
        assert reader.offsets() == list(range(1, 1 + len(broken)))
        assert len(reader.rows) == 2
