"""The sinks that write with a format of Spark, with a function or a Python data source of the author, or to memory."""
