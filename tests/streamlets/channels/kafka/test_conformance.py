"""The Kafka channel passes the suite of all channels."""

from __future__ import annotations

import pytest

from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.testkit.channels import ChannelSuite
from tests.streamlets.channels.benches import KafkaBench


@pytest.mark.spark
class TestKafka(ChannelSuite):
    """On the broker that all tests share, which needs Java."""

    channel = CHANNEL_TYPES["kafka"]
    bench = KafkaBench
