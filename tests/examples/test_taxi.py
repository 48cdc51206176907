"""The example of taxi rides, compared with a join of its data in Python."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from streamlets.testkit import Testkit
from tests.examples.test_calls import check_generated

TAXI = Path(__file__).resolve().parents[2] / "examples" / "taxi"
PAYMENT, LATENESS = timedelta(minutes=30), timedelta(minutes=10)


@pytest.mark.spark
def test_rides_have_their_fares(kit: Testkit) -> None:
    """Every paid ride has its fare; a ride without one is reported when none can arrive any more."""
    rides, fares = {}, {}
    for file in sorted((TAXI / "data" / "rides").iterdir()):
        for ride in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            rides[ride["ride"]] = datetime.fromisoformat(ride["ended"])
    for file in sorted((TAXI / "data" / "fares").iterdir()):
        with file.open(encoding="utf-8") as lines:
            for fare in csv.DictReader(lines):
                fares[int(fare["ride"])] = (datetime.fromisoformat(fare["paid"]), Decimal(fare["amount"]))
    assert all(timedelta() <= paid - rides[ride] <= PAYMENT for ride, (paid, _) in fares.items())
    app = kit.application(TAXI / "blueprint.conf")
    steps = app.step()
    assert {row["ride"]: row["amount"] for row in app.sink("ledger").take()} == {
        ride: amount for ride, (_, amount) in fares.items()
    }
    newest = min(max(rides.values()), max(paid for paid, _ in fares.values())) - LATENESS
    unpaid = {ride for ride, ended in rides.items() if ride not in fares and ended + PAYMENT < newest}
    assert {row["ride"] for row in app.sink("alarm").take()} == unpaid
    assert 0 < len(unpaid) < len(rides) - len(fares)
    assert steps["match"].late == 0


def test_the_data_is_what_the_script_generates() -> None:
    """The files are those of the fixed seed."""
    check_generated(TAXI)
