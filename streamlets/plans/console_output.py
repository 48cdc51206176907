"""Reserves the standard output for the report while logic is built."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

_ECHOING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers with which pyspark prints each error of Spark as JSON, in addition to raising it."""


@contextlib.contextmanager
def redirected_console_output() -> Iterator[None]:
    """Redirect the output of logic to the standard error, and keep pyspark from printing errors that it raises."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _ECHOING_LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
