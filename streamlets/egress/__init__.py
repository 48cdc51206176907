"""Sinks, which write records outside of an application, and their capabilities."""

from streamlets.egress.capabilities import SINKS, SinkOption, SinkTraits
from streamlets.egress.errors import ExistingFilesError, SinkError
from streamlets.egress.sink import Sink

__all__ = ["SINKS", "ExistingFilesError", "Sink", "SinkError", "SinkOption", "SinkTraits"]
