"""Notes for readers that were overtaken: which records were dropped before they had committed them.

A note is written before the records leave the log and holds once they have; whoever looks after the topic tells it.
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

FOLDER = "_missed"


def note(topic: Path, table: str, files: tuple[str, ...], missed: Missed) -> None:
    """Write a note; a drop that is tried again writes the same one anew.

    Arguments:
        table: the table's name; files: which hold the records, as the table names them.
    """
    key = hashlib.sha256(f"{missed.reader}/{table}/{files[0]}".encode()).hexdigest()[:16]
    (topic / FOLDER).mkdir(exist_ok=True)
    content = {"table": table, "files": files, "missed": asdict(missed)}
    objects.replace(topic / FOLDER / f"{key}.json", json.dumps(content).encode())


def told(topic: Path, tables: Callable[[], Mapping[str, Table]]) -> Iterator[Missed]:
    """What notes say of records that have left the log; a note goes when the next one is asked for.

    Arguments:
        tables: gives the topic's, read with their files; asked only when there are notes.
    """
    notes = sorted((topic / FOLDER).glob("*.json"))
    known = tables() if notes else {}
    for path in notes:
        data = objects.read(path)
        content = json.loads(data) if data else None
        table = known.get(content["table"]) if content else None
        if content is not None and table is not None and not set(content["files"]) & set(table.files or {}):
            yield Missed(**content["missed"])
            path.unlink(missing_ok=True)
