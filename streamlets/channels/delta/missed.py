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
from streamlets.storage.damage import damaged

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
        if data is None:  # another process has taken it
            continue
        try:
            content = json.loads(data)
            table, files, missed = known.get(content["table"]), set(content["files"]), Missed(**content["missed"])
        except (ValueError, KeyError, TypeError):
            remedy = "delete it; which records a reader has missed is in no other file"
            raise damaged("a note of records that a reader has missed", path, data, remedy) from None
        if table is not None and not files & set(table.files or {}):
            yield missed
            path.unlink(missing_ok=True)
