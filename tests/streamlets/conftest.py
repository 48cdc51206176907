"""The fixture of tests that hold on every channel."""

from tests.streamlets.channels.benches import channel_bench

__all__ = ["channel_bench"]
