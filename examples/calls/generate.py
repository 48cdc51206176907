"""Write the sample data: the calls of a morning, as two exchanges export them.

    python examples/calls/generate.py

The data is always the same. One record in fifty is broken as real ones are: an end instead of a duration, a direction
that does not exist, a time of another format.
"""

from __future__ import annotations

import csv
import io
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
USERS = [f"+4721{number:06}" for number in range(100001, 100013)]
START = datetime(2026, 3, 2, 6, tzinfo=UTC)
MORNING = timedelta(hours=6)
FILES = {"mobile/morning.csv": 240, "landline/morning.jsonl": 160}
BROKEN = ({"seconds": "until 09:12"}, {"direction": "transit"}, {"began": "yesterday"})

Record = dict[str, object]


def files() -> dict[Path, str]:
    """Return the content of the files by path."""
    chance = random.Random(2026)
    contents = {}
    for name, count in FILES.items():
        records = [call(chance) for _ in range(count)]
        records.sort(key=lambda record: str(record["began"]))
        for at in range(25, count, 50):
            records[at] |= chance.choice(BROKEN)
        contents[HERE / "data" / name] = as_csv(records) if name.endswith(".csv") else as_json(records)
    return contents


def call(chance: random.Random) -> Record:
    """Return a call of a random user; most are short."""
    user, other = chance.sample(USERS, 2)
    began = START + MORNING * chance.random()
    return {
        "user": user,
        "other": other,
        "direction": chance.choice(["incoming", "outgoing"]),
        "began": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": int(chance.expovariate(1 / 180)) + 1,
    }


def as_csv(records: list[Record]) -> str:
    """Return records as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def as_json(records: list[Record]) -> str:
    """Return records as lines of JSON."""
    return "".join(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    for file, content in files().items():
        file.write_text(content, encoding="utf-8")
