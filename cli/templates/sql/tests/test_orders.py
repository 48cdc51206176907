"""The job on its sample data; its state and output are in the kit, which the plugin of Streamlets provides."""

from pathlib import Path

BLUEPRINT = Path(__file__).parent.parent / "blueprint.conf"


def test_large_orders_are_saved(kit):
    app = kit.application(BLUEPRINT)
    app.step()
    rows = app.sink("orders", "large").take()
    assert {(row["id"], row["product"], str(row["amount"])) for row in rows} == {
        (1, "tea", "9.00"),
        (2, "coffee", "7.90"),
        (4, "coffee", "23.70"),
    }
