"""The sinks that write with a format of Spark, with the author's function or data source, or to memory."""
