"""The errors of sinks. A message is one sentence that begins with the name of the sink."""

from __future__ import annotations


class SinkError(Exception):
    """The sink cannot write a batch. No data of it was published, unless an earlier attempt had decided its files.

    Example:
        A sink of another package raises it with what to do::

            raise SinkError("the table `orders` has no column `at`: add it, or drop the table")
    """


class ExistingFilesError(SinkError):
    """The sink wrote files or rows with an earlier checkpoint, or another application has written to the directory.

    The option `existing` determines what happens to them.
    """


class TableMismatchError(SinkError):
    """The columns or partitions of a table differ from the records'."""


class KeysError(SinkError):
    """The keys of the records in a batch do not identify rows."""


class RefusedBatchError(SinkError):
    """The database refuses a batch because of its records or of the table, so it would refuse it again."""
