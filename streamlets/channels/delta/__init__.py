"""Topics as Delta tables: Parquet files, a transaction log, no server."""

from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic

__all__ = ["DeltaChannel", "DeltaTopic"]
