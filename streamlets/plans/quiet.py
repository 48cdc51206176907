"""Keeps the standard output for the report while logic is built."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

_ECHOES = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Where pyspark writes each error of Spark's as JSON, on the terminal, beside raising it."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Send what logic prints to the standard error, and let pyspark tell errors once."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _ECHOES]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
