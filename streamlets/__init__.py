"""The runtime, and the API that authors import. Importing it starts nothing."""

from blueprint.catalog import ParameterProblem
from blueprint.quantities import Duration, MemorySize
from streamlets import triggers
from streamlets.context import SparkStreamletContext, StreamingWrite
from streamlets.egress import Sink, SinkError
from streamlets.errors import StreamletError
from streamlets.execution import QueriesFailedError, StreamletExecution
from streamlets.logic import Queries, SparkStreamletLogic
from streamlets.mounts import VolumeMount
from streamlets.parameters import (
    BooleanParameter,
    DoubleParameter,
    DurationParameter,
    IntegerParameter,
    MemorySizeParameter,
    ObjectParameter,
    Parameter,
    PathParameter,
    RegExpParameter,
    StringParameter,
)
from streamlets.ports import AvroInlet, AvroOutlet
from streamlets.shape import StreamletShape
from streamlets.streamlet import SparkStreamlet

__all__ = [
    "AvroInlet",
    "AvroOutlet",
    "BooleanParameter",
    "DoubleParameter",
    "Duration",
    "DurationParameter",
    "IntegerParameter",
    "MemorySize",
    "MemorySizeParameter",
    "ObjectParameter",
    "Parameter",
    "ParameterProblem",
    "PathParameter",
    "Queries",
    "QueriesFailedError",
    "RegExpParameter",
    "Sink",
    "SinkError",
    "SparkStreamlet",
    "SparkStreamletContext",
    "SparkStreamletLogic",
    "StreamingWrite",
    "StreamletError",
    "StreamletExecution",
    "StreamletShape",
    "StringParameter",
    "VolumeMount",
    "triggers",
]
