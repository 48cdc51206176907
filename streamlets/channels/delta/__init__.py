"""Topics as Delta tables: Parquet files, a transaction log, no server."""

from streamlets.channels.delta.channel import DeltaChannel, DeltaTopic

__all__ = ["DeltaChannel", "DeltaTopic"]
