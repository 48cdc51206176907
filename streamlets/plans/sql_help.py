"""The help of findings in SQL, for streamlets whose logic is statements: they cannot have `.withWatermark(...)`."""

from __future__ import annotations

import re

_WATERMARK = "`FROM stream WATERMARK time DELAY OF INTERVAL 10 MINUTES`"

_IN_SQL = (
    (r"add `\.withWatermark\(\.\.\.\)` before$", f"write {_WATERMARK}"),
    (r'add `\.withWatermark\("<time>", "<delay>"\)` before it and group', f"write {_WATERMARK}, and group"),
    (r'`output_mode="(\w+)"`', lambda match: f"`OUTPUT MODE {match[1].upper()}`"),
    (r"use `F\.approx_count_distinct`.*", "write `approx_count_distinct(...)`"),
    (r"group by `F\.window\(\.\.\.\)` of a time, or .*", "group by `window(time, '10 minutes')`"),
    (r"^sort the records where they are read, or .*", "remove `ORDER BY`, and sort the records where they are read"),
    (r"^use `dropDuplicatesWithinWatermark`, or include", "include"),
    (r"^give both sides a watermark, and join", f"give both sides a watermark with {_WATERMARK}, and join"),
    (
        r'convert it: \.withColumn\("([^"]+)", .*',
        lambda match: f"convert it: `(SELECT ..., to_timestamp({match[1]}) AS time FROM stream) WATERMARK time ...`",
    ),
    (r"use a `processing-time` trigger", "write `TRIGGER 0 SECONDS`"),
    (r"create the view in this streamlet: .*", "create the view in an earlier statement"),
)
"""Patterns of help in Python, and what statements have instead."""


def in_sql(help: str) -> str:
    """Return the help of a finding in SQL, if it is in Python."""
    for pattern, replacement in _IN_SQL:
        help = re.sub(pattern, replacement, help)
    return help
