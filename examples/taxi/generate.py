"""Write the sample data: the rides of a night in which some passengers ran away, and their fares.

    python examples/taxi/generate.py

The data is always the same. Two files of each kind, which are read in turn; a fare is paid some minutes after its ride.
"""

from __future__ import annotations

import csv
import io
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
START = datetime(2026, 3, 7, 20, tzinfo=UTC)
NIGHT = timedelta(hours=8)
RIDES = 300
UNPAID = 0.04
CABS = [f"cab-{number:02}" for number in range(1, 13)]

Record = dict[str, object]


def files() -> dict[Path, str]:
    """Return the content of the files by path."""
    chance = random.Random(2026)
    rides, fares = [], []
    for number, ended in enumerate(sorted(START + NIGHT * chance.random() for _ in range(RIDES)), 1001):
        kilometres = round(chance.lognormvariate(1.4, 0.6), 1)
        rides.append({"ride": number, "cab": chance.choice(CABS), "ended": text(ended), "kilometres": kilometres})
        if chance.random() > UNPAID:
            amount = round(4.5 + 1.9 * kilometres, 2)
            tip = round(amount * chance.choice([0, 0, 0.05, 0.1, 0.2]), 2)
            paid = ended + timedelta(minutes=chance.expovariate(1 / 4))
            row = {"ride": number, "paid": text(paid), "payment": chance.choice(["card", "card", "cash"])}
            fares.append(row | {"amount": f"{amount:.2f}", "tip": f"{tip:.2f}"})
    fares.sort(key=lambda fare: str(fare["paid"]))
    half = text(START + NIGHT / 2)
    data = HERE / "data"
    return {
        data / "rides" / "evening.jsonl": as_json([ride for ride in rides if str(ride["ended"]) < half]),
        data / "rides" / "night.jsonl": as_json([ride for ride in rides if str(ride["ended"]) >= half]),
        data / "fares" / "evening.csv": as_csv([fare for fare in fares if str(fare["paid"]) < half]),
        data / "fares" / "night.csv": as_csv([fare for fare in fares if str(fare["paid"]) >= half]),
    }


def text(time: datetime) -> str:
    """Return a time in UTC as ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def as_csv(records: list[Record]) -> str:
    """Return records as CSV with a header."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return lines.getvalue()


def as_json(records: list[Record]) -> str:
    """Return records as lines of JSON."""
    return "".join(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    for file, content in files().items():
        file.write_text(content, encoding="utf-8")
