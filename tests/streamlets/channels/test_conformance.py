"""Our channels pass the suite that authors of channels run: `streamlets.testkit.channels`."""

from __future__ import annotations

from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.testkit.channels import READING, ChannelBench, ChannelSuite


class TestDelta(ChannelSuite):
    """The embedded default."""

    channel = CHANNEL_TYPES["delta"]

    def test_a_later_topic_knows_no_positions_of_a_deleted_one(self, channel_bench: ChannelBench) -> None:
        """They have the same name, but not the same id."""
        topic = channel_bench.topic("in")
        end = topic.end()
        topic.delete()
        topic.create([READING])
        assert not topic.owns(end)
