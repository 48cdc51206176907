"""The conformance suite of channels, which the authors of a channel run in their own tests.

A subclass of `ChannelSuite` has every test that fits the traits of its channel; see docs/channels.md.
"""

from streamlets.testkit.channels.bench import ChannelBench, QueryBench
from streamlets.testkit.channels.records import READING, WIDER, append, batch, contract, ids_of, inlet, outlet
from streamlets.testkit.channels.suite import ChannelSuite

__all__ = [
    "READING",
    "WIDER",
    "ChannelBench",
    "ChannelSuite",
    "QueryBench",
    "append",
    "batch",
    "contract",
    "ids_of",
    "inlet",
    "outlet",
]
