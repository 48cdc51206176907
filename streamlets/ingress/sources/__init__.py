"""Sources, from which `streamlets.Source` reads records with settings alone, and their capabilities."""

from blueprint.catalog import ParameterType, SourceOption, SourceTraits
from streamlets.ingress.batch_sources.read_items import BrokenRecord
from streamlets.ingress.sources.base import OpenSource, SourceType
from streamlets.ingress.sources.registry import SOURCES
from streamlets.ingress.sources.sample import Sample, SampledRow, SampleError
from streamlets.ingress.sources.source import Source

__all__ = [
    "SOURCES",
    "BrokenRecord",
    "OpenSource",
    "ParameterType",
    "Sample",
    "SampleError",
    "SampledRow",
    "Source",
    "SourceOption",
    "SourceTraits",
    "SourceType",
]
