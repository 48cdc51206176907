"""The records of `run.log` that are about one streamlet, read from the end of the log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

READ = 4 * 1024 * 1024
"""The bytes from the end of a log that are searched."""

# As `RunLog` begins each record.
_START = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 (?P<text>.*)")
_JSON_START = '{"timestamp":'


def records_of(streamlet: str, log: Path, most: int) -> list[str]:
    """Return the last records about a streamlet or its queries, oldest first; each is one or several lines.

    A log may have readable records and records of JSON, as each run chooses its format.

    Arguments:
        streamlet: the name of the streamlet.
        log: the log; it may not exist yet.
        most: the largest number of characters of all records together; a single record may be longer.

    Raises:
        OSError: the log cannot be read.
    """
    own = [record for record in _records(_end_of(log)) if _streamlet_of(record) == streamlet]
    characters = first = 0
    for number, record in enumerate(reversed(own), 1):
        characters += len(record)
        if number > 1 and characters > most:
            break
        first = number
    return own[len(own) - first :]


def _end_of(log: Path) -> str:
    """Return the end of a log, without a first line that is incomplete."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - READ))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return text if size <= READ else text.partition("\n")[2]


def _records(text: str) -> Iterator[str]:
    """Yield the records of a text. Lines before the first beginning of a record belong to one that was cut off."""
    lines: list[str] = []
    for line in text.splitlines():
        if _START.match(line) or line.startswith(_JSON_START):
            if lines:
                yield "\n".join(lines)
            lines = [line]
        elif lines:
            lines.append(line)
    if lines:
        yield "\n".join(lines)


def _streamlet_of(record: str) -> str:
    """Return the streamlet that a record is about; empty for none."""
    if match := _START.match(record):
        unit, colon, _ = match["text"].partition(": ")
        return unit.partition(".")[0] if colon else ""
    try:
        return str(json.loads(record).get("streamlet", ""))
    except ValueError:
        return ""
