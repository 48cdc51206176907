"""Deduplication at an inlet: each record once, although at-least-once writers may repeat it.

The doubles of a record have the same values in columns that the author names, or the same headers of a staged outlet
(`staging.py`). Spark keeps the keys of records in the state of the query, until the watermark has passed their time by
the delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlets.channels.base import METADATA
from streamlets.channels.kafka.settings import (
    DEDUPLICATE_HEADERS,
    DEDUPLICATE_KEYS,
    DEDUPLICATE_WATERMARK,
    DEDUPLICATE_WITHIN,
)
from streamlets.channels.kafka.staging import BATCH, QUERY, SEQUENCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.quantities import Duration

_KEY = "_streamlets_key"
TIME = "_streamlets_time"
"""The column with the time of a message, until the doubles are removed."""


@dataclass(frozen=True, slots=True)
class Deduplication:
    """How an inlet recognizes doubles.

    Arguments:
        keys: the columns that the doubles of a record have in common; () for the headers of a staged outlet.
        watermark: the column with the time of a record; "" for the time of the message, with headers.
        within: how much later than a record its doubles may arrive.
    """

    keys: tuple[str, ...]
    watermark: str
    within: Duration

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Deduplication | None:
        """Return the deduplication that the settings of an inlet set; None without one."""
        keys: Sequence[str] = DEDUPLICATE_KEYS.of(options) or ()
        if not keys and not DEDUPLICATE_HEADERS.of(options):
            return None
        return cls(tuple(keys), DEDUPLICATE_WATERMARK.of(options) or "", DEDUPLICATE_WITHIN.of(options))


def deduplicated(rows: DataFrame, deduplication: Deduplication, *, metadata: bool) -> DataFrame:
    """Return each record once, with the watermark of the deduplication.

    It is the watermark of the author's column, so that a window of the column has it, too: Spark allows one watermark
    only. Without a column it is that of the time of the message.

    Arguments:
        rows: the records with the column `_meta`.
        deduplication: how doubles are recognized.
        metadata: whether to keep the column `_meta`.
    """
    from pyspark.sql import functions as F

    headers = F.col(f"{METADATA}.headers")
    # Messages of other writers, which have no headers, have keys of their own.
    place = F.concat_ws("/", f"{METADATA}.position", f"{METADATA}.sequence")
    written = F.concat_ws("/", *(headers[name].cast("string") for name in (QUERY, BATCH, SEQUENCE)))
    key = F.when(headers[SEQUENCE].isNotNull(), written).otherwise(F.concat(F.lit("at "), place))
    keys = deduplication.keys
    keyed = rows if keys else rows.withColumn(_KEY, key)
    if not deduplication.watermark:
        keyed = keyed.withColumn(TIME, F.col(f"{METADATA}.timestamp"))
    timed = keyed.withWatermark(f"`{deduplication.watermark or TIME}`", deduplication.within.sql)
    once = timed.dropDuplicatesWithinWatermark(list(keys) or [_KEY])
    return once.drop(TIME, _KEY, *([] if metadata else [METADATA]))
