"""What channels forget when checkpoints are reset."""

from __future__ import annotations

import json
from pathlib import Path

from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.checkpoints.reset import reset
from streamlets.runner.state_directory.directory import StateDirectory


def test_decisions_about_an_inlet_are_kept_until_its_last_query_is_reset(tmp_path: Path) -> None:
    """The queries of a streamlet share them, so a reset of one does not change what the others read."""
    state = StateDirectory(tmp_path, "app")
    for name in ("average/hot", "average/cold", "other/q"):
        (state.checkpoints / name).mkdir(parents=True)
        (state.checkpoints / name / "metadata").write_text(json.dumps({"id": name.replace("/", "-")}))
    channel = KafkaChannel(state.topics)
    decisions = {name: channel.root / "inlets" / name / "in.json" for name in ("average", "other")}
    for file in decisions.values():
        file.parent.mkdir(parents=True)
        file.touch()

    def reset_query(name: str) -> list[str]:
        reset(state, [entry for entry in checkpoints_in(state.checkpoints) if entry.name == name], [channel])
        return [streamlet for streamlet, file in decisions.items() if file.exists()]

    with state.locked():
        assert reset_query("average.hot") == ["average", "other"]
        assert reset_query("average.cold") == ["other"]
        assert reset_query("other.q") == []
