"""The whole application on the sample data; its state and output are in the kit, not in `.flow`."""

from datetime import date
from decimal import Decimal
from pathlib import Path

BLUEPRINT = Path(__file__).parent.parent / "blueprint.conf"


def test_revenue_of_complete_days(kit):
    app = kit.application(BLUEPRINT)
    app.step()
    rows = {(row["day"], row["product"]): row["revenue"] for row in app.sink("report").take()}
    assert rows == {
        (date(2026, 3, 1), "tea"): Decimal("13.50"),
        (date(2026, 3, 1), "coffee"): Decimal("7.90"),
        (date(2026, 3, 2), "coffee"): Decimal("23.70"),
    }


def test_an_order_for_a_day_that_was_written_is_late(kit):
    app = kit.application(BLUEPRINT)
    app.step()
    app.topic("orders").put([{"id": 7, "at": "2026-03-01T10:00:00Z", "product": "tea", "quantity": 1, "price": "4.50"}])
    assert app.step()["revenue"].late == 1
