"""`flow topics acls`: the rights that an application needs in a cluster."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Flow

APP = """
from streamlets import AvroInlet, SparkStreamlet, SparkStreamletLogic

class Archive(SparkStreamlet):
    into = AvroInlet("in", schema="id long NOT NULL", on_invalid="dead-letters")

    class Logic(SparkStreamletLogic["Archive"]):
        def build_streaming_queries(self):
            return self.read_stream(self.streamlet.into).writeStream.format("noop")
"""
BLUEPRINT = """
blueprint {
  streamlets { archive = app.Archive }
  topics.readings { consumers = [archive.in], channel = kafka, managed = no, topic.name = weather }
}
flow.kafka { topic-prefix = team-a., internal-prefix = _teams, clusters.default.bootstrap.servers = "kafka-1:9092" }
"""


def test_every_resource_of_the_application_is_listed(flow: Flow, tmp_path: Path) -> None:
    """Topics by their names in the cluster, groups, and the ids of transactions; as a table, data, and calls."""
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    rights = json.loads(flow("topics", "acls", str(tmp_path), "--format", "json").out)
    named = {(right["resource"], right["name"]): right for right in rights}
    assert {name for kind, name in named if kind == "topic"} == {
        "weather", "team-a.dead-letters.archive", "_teams_schemas", "_teams_writers",
    }  # fmt: skip
    assert "Write" not in named["topic", "weather"]["operations"]
    assert {"Write", "Create"} <= set(named["topic", "team-a.dead-letters.archive"]["operations"])
    assert named["transactional-id", "teams/team-a.dead-letters.archive/"]["prefixed"]
    assert ("group", f"{tmp_path.name}.") in named
    calls = flow("topics", "acls", str(tmp_path), "--commands", "--principal", "User:ann").out.splitlines()
    assert len(calls) == len(rights)
    assert all(call.startswith("kafka-acls.sh --bootstrap-server kafka-1:9092 --add") for call in calls)
    assert "--allow-principal User:ann --operation Describe" in calls[-1]
    assert "weather" in flow("topics", "acls", str(tmp_path)).out


SINKS = """
blueprint {
  streamlets {
    archive = app.Archive
    copy {
      class = streamlets.Sink
      inlets.in = row.avsc
      parameters {
        to = kafka
        options { kafka.bootstrap.servers = "far:9092", topic = copies, guarantee = exactly-once }
      }
    }
    job {
      class = streamlets.Sql
      inlets.in = row.avsc
      parameters.statements = \"\"\"
        CREATE TEMPORARY VIEW routed AS SELECT *, 'x' AS topic FROM `in`;
        SAVE STREAM `in` TO kafka IDENTIFIED BY plain
          OPTIONS ('kafka.bootstrap.servers' = 'far:9092', 'topic' = 'plain');
        SAVE STREAM routed TO kafka
          OPTIONS ('kafka.bootstrap.servers' = 'far:9092', 'guarantee' = 'exactly-once');
      \"\"\"
    }
  }
  topics.readings { consumers = [archive.in, copy.in, job.in], channel = kafka, managed = no }
}
flow.kafka.clusters.default.bootstrap.servers = "near:9092"
"""
ROW = '{"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}'


def test_sinks_have_the_rights_of_their_guarantee(flow: Flow, tmp_path: Path) -> None:
    """Those of a sink in the blueprint, and of statements: one with transactions needs their ids, and its entries."""
    for name, text in (("app.py", APP), ("blueprint.conf", SINKS), ("row.avsc", ROW)):
        (tmp_path / name).write_text(text)
    answer = flow("topics", "acls", str(tmp_path), "--format", "json")
    assert answer.code == 0, answer.err
    far = {(right["resource"], right["name"]): right for right in json.loads(answer.out) if "far" in right["servers"]}
    assert far["topic", "plain"]["operations"] == ["Describe", "Write"]
    assert set(far) == {
        ("topic", "plain"), ("topic", "copies"), ("topic", "*"), ("topic", "_streamlets_writers"),
        ("group", "streamlets"), ("transactional-id", "streamlets/copies/"), ("transactional-id", "streamlets/"),
    }  # fmt: skip
    assert "--topic '*'" in flow("topics", "acls", str(tmp_path), "--commands").out
