"""Topics as Delta tables: Parquet files, a transaction log, no server."""
