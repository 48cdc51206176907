"""Streams whose batches are planned in the runner, and whose Parquet files are read by Spark itself.

For a Python data source, Spark starts a process for each query, which plans its batches, and passes all records
through Python workers. Here Spark calls the runner's own process for the plan of a batch (`planners.py`), and its tasks
read the files with Spark's Parquet reader, column by column. The part in Java (`java/`) is compiled into `planned.jar`,
which is in the repository because an installation has no compiler; `jar.py` builds it, and a test compares it with its
sources.
"""
