"""How Spark decodes the messages of a topic."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.plan import InletPlan, TopicPlan
from streamlets.channels.kafka.channel import KafkaChannel
from tests.streamlets.channels.topics import READING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_message_is_decoded_once(
    spark: SparkSession, kafka_broker: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A filter of the author is not moved before the decoding, where it would need another one."""
    name = f"t-{uuid.uuid4().hex}"
    plan = TopicPlan(name, name, "kafka", True, (), (), {"bootstrap.servers": kafka_broker})
    topic = KafkaChannel(tmp_path).topic(plan)
    topic.create([READING])
    rows = topic.read(spark.newSession(), InletPlan("hop", "in", None, READING, name), name="in")
    rows.where("id > 3 and src is not null").select("id").explain()
    assert capsys.readouterr().out.count("from_avro(") == 1
