"""Notes of the records that were dropped before a reader had committed them.

A note is written before the records are removed from the log, and is valid once they have been removed. The runner
reports valid notes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from streamlets.channels.base import Missed
from streamlets.channels.delta.table import Table
from streamlets.storage import objects

DIRECTORY = "_missed"


def write_note(topic: Path, table: str, files: tuple[str, ...], missed: Missed) -> None:
    """Write a note. If the drop is repeated after a failure, it replaces its note.

    Arguments:
        topic: the directory of the topic.
        table: the name of the table.
        files: the files with the records, by their paths in the table.
        missed: the records.
    """
    key = hashlib.sha256(f"{missed.reader}/{table}/{files[0]}".encode()).hexdigest()[:16]
    (topic / DIRECTORY).mkdir(exist_ok=True)
    content = {"table": table, "files": files, "missed": asdict(missed)}
    objects.replace(topic / DIRECTORY / f"{key}.json", json.dumps(content).encode())


def take_notes(topic: Path, tables: Callable[[], Mapping[str, Table]]) -> Iterator[Missed]:
    """Yield the valid notes. A note is deleted when the caller asks for the next one.

    Arguments:
        topic: the directory of the topic.
        tables: returns the tables of the topic, read with their files; called only if there are notes.
    """
    notes = sorted((topic / DIRECTORY).glob("*.json"))
    known = tables() if notes else {}
    for path in notes:
        data = objects.read(path)
        content = json.loads(data) if data else None
        table = known.get(content["table"]) if content else None
        if content is not None and table is not None and not set(content["files"]) & set(table.files or {}):
            yield Missed(**content["missed"])
            path.unlink(missing_ok=True)
