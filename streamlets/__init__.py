"""The runtime, and the API that authors import. Importing it starts nothing."""

from importlib import import_module
from typing import TYPE_CHECKING

from blueprint.catalog import ExternalResources, ListeningPort, ParameterProblem, ReadPath, WrittenDirectory
from blueprint.quantities import Duration, MemorySize
from streamlets import triggers
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.execution import QueriesFailedError, StreamletExecution
from streamlets.api.hooks import StopCause
from streamlets.api.logic import Queries, SparkStreamletLogic
from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import (
    BooleanParameter,
    DoubleParameter,
    DurationParameter,
    IntegerParameter,
    ListParameter,
    MemorySizeParameter,
    ObjectParameter,
    Parameter,
    PathParameter,
    RegExpParameter,
    StringParameter,
)
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.shape import StreamletShape
from streamlets.api.streamlet import Configuration, SparkStreamlet, Streamlet
from streamlets.egress import Sink, SinkError

if TYPE_CHECKING:
    from streamlets.ingress.batch_sources.context import Eat, SourceContext
    from streamlets.ingress.batch_sources.streamlet import BatchPushSource, BatchSource
    from streamlets.ingress.sources.source import Source
    from streamlets.ingress.spouts import client as spout
    from streamlets.ingress.spouts.generator import SpoutOutput, SpoutTransaction
    from streamlets.ingress.spouts.streamlet import GeneratorSpout, Spout
    from streamlets.sql import Sql

    __version__: str

__all__ = [
    "AvroInlet",
    "AvroOutlet",
    "BatchPushSource",
    "BatchSource",
    "BooleanParameter",
    "Configuration",
    "DoubleParameter",
    "Duration",
    "DurationParameter",
    "Eat",
    "ExternalResources",
    "GeneratorSpout",
    "IntegerParameter",
    "ListParameter",
    "ListeningPort",
    "MemorySize",
    "MemorySizeParameter",
    "ObjectParameter",
    "Parameter",
    "ParameterProblem",
    "PathParameter",
    "Queries",
    "QueriesFailedError",
    "ReadPath",
    "RegExpParameter",
    "Sink",
    "SinkError",
    "Source",
    "SourceContext",
    "SparkStreamlet",
    "SparkStreamletContext",
    "SparkStreamletLogic",
    "Spout",
    "SpoutOutput",
    "SpoutTransaction",
    "Sql",
    "StopCause",
    "StreamingWrite",
    "Streamlet",
    "StreamletError",
    "StreamletExecution",
    "StreamletShape",
    "StringParameter",
    "VolumeMount",
    "WrittenDirectory",
    "spout",
    "triggers",
]


_MODULES = {
    "BatchPushSource": "streamlets.ingress.batch_sources.streamlet",
    "BatchSource": "streamlets.ingress.batch_sources.streamlet",
    "Eat": "streamlets.ingress.batch_sources.context",
    "GeneratorSpout": "streamlets.ingress.spouts.streamlet",
    "Source": "streamlets.ingress.sources.source",
    "SourceContext": "streamlets.ingress.batch_sources.context",
    "Spout": "streamlets.ingress.spouts.streamlet",
    "SpoutOutput": "streamlets.ingress.spouts.generator",
    "SpoutTransaction": "streamlets.ingress.spouts.generator",
    "Sql": "streamlets.sql",
}
"""The modules of what few applications use, which are imported when it is first used."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("streamlets")
    if name == "spout":
        return import_module("streamlets.ingress.spouts.client")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
