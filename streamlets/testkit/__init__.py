"""A testkit for streamlets: feed inlets, step, read outlets, with contracts and checkpoints as in a real run."""

from streamlets.testkit.application import ApplicationUnderTest
from streamlets.testkit.batch_source_under_test import BatchSourceUnderTest, SourceStep
from streamlets.testkit.clock import TestClock
from streamlets.testkit.failures import StepFailedError, TestkitError
from streamlets.testkit.kit import Testkit
from streamlets.testkit.preview import preview
from streamlets.testkit.records import RecordError
from streamlets.testkit.session import start_session
from streamlets.testkit.step import QueryStep, Step
from streamlets.testkit.streamlet_under_test import StreamletUnderTest
from streamlets.testkit.taps import InletTap, OutletTap, SinkTap, TopicTap

__all__ = [
    "ApplicationUnderTest",
    "BatchSourceUnderTest",
    "InletTap",
    "OutletTap",
    "QueryStep",
    "RecordError",
    "SinkTap",
    "SourceStep",
    "Step",
    "StepFailedError",
    "StreamletUnderTest",
    "TestClock",
    "Testkit",
    "TestkitError",
    "TopicTap",
    "preview",
    "start_session",
]
