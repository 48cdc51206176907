"""The interface to streamlets, channels and sinks for the language, in plain data. `streamlets` implements it."""

from blueprint.catalog.catalog import Catalog
from blueprint.catalog.channels import ChannelTraits, InletSettings, OutletSettings, TopicProblem, TopicSettings
from blueprint.catalog.connectors import Connector, SparkArtifacts, UnmetRequirement
from blueprint.catalog.external import (
    ExternalResources,
    FilledOutlet,
    ListeningPort,
    ReadPath,
    SavedInlet,
    UsedSink,
    WrittenDirectory,
)
from blueprint.catalog.kinds import SPARK, Kind
from blueprint.catalog.options import HasOptions, Option
from blueprint.catalog.parameters import ParameterDescriptor, ParameterProblem, ParameterType, PathTraits
from blueprint.catalog.requests import LoadFailure, LoadFailureKind, PortSetting, StreamletRequest
from blueprint.catalog.sinks import OUTPUT_MODES, SINK_NOT_INSTALLED, OutputMode, SinkOption, SinkTraits
from blueprint.catalog.sources import SOURCE_NOT_INSTALLED, SourceOption, SourceTraits
from blueprint.catalog.streamlets import (
    PortDescriptor,
    StreamletDescriptor,
    VolumeMountDescriptor,
)

__all__ = [
    "OUTPUT_MODES",
    "SINK_NOT_INSTALLED",
    "SOURCE_NOT_INSTALLED",
    "SPARK",
    "Catalog",
    "ChannelTraits",
    "Connector",
    "ExternalResources",
    "FilledOutlet",
    "HasOptions",
    "InletSettings",
    "Kind",
    "ListeningPort",
    "LoadFailure",
    "LoadFailureKind",
    "Option",
    "OutletSettings",
    "OutputMode",
    "ParameterDescriptor",
    "ParameterProblem",
    "ParameterType",
    "PathTraits",
    "PortDescriptor",
    "PortSetting",
    "ReadPath",
    "SavedInlet",
    "SinkOption",
    "SinkTraits",
    "SourceOption",
    "SourceTraits",
    "SparkArtifacts",
    "StreamletDescriptor",
    "StreamletRequest",
    "TopicProblem",
    "TopicSettings",
    "UnmetRequirement",
    "UsedSink",
    "VolumeMountDescriptor",
    "WrittenDirectory",
]
