"""Sinks, which write records outside of an application, and their capabilities."""

from blueprint.catalog import ParameterType, SinkOption, SinkTraits
from streamlets.batches import query_id
from streamlets.egress.base import SinkFiles, SinkQuery, SinkType, SinkWriter
from streamlets.egress.errors import ExistingFilesError, SinkError
from streamlets.egress.registry import SINKS
from streamlets.egress.sink import Sink

__all__ = [
    "SINKS",
    "ExistingFilesError",
    "ParameterType",
    "Sink",
    "SinkError",
    "SinkFiles",
    "SinkOption",
    "SinkQuery",
    "SinkTraits",
    "SinkType",
    "SinkWriter",
    "query_id",
]
