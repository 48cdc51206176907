"""Sinks: how records leave an application, and what each sink can do."""

from streamlets.egress.capabilities import SINKS, SinkOption, SinkTraits
from streamlets.egress.errors import ExistingFilesError, SinkError
from streamlets.egress.sink import Sink

__all__ = ["SINKS", "ExistingFilesError", "Sink", "SinkError", "SinkOption", "SinkTraits"]
