"""Feed inlets, step, read outlets: through the same contracts and real checkpoints."""

from streamlets.testkit.application import ApplicationUnderTest
from streamlets.testkit.failures import StepFailedError, TestkitError
from streamlets.testkit.kit import Testkit
from streamlets.testkit.preview import preview
from streamlets.testkit.records import RecordError
from streamlets.testkit.session import start_session
from streamlets.testkit.stepping import QueryStep, Step
from streamlets.testkit.streamlet_under_test import StreamletUnderTest
from streamlets.testkit.taps import InletTap, OutletTap, SinkTap, TopicTap

__all__ = [
    "ApplicationUnderTest",
    "InletTap",
    "OutletTap",
    "QueryStep",
    "RecordError",
    "SinkTap",
    "Step",
    "StepFailedError",
    "StreamletUnderTest",
    "Testkit",
    "TestkitError",
    "TopicTap",
    "preview",
    "start_session",
]
