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
