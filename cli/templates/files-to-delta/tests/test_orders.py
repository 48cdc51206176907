"""The ingress, on a file of the test. The plugin of Streamlets provides the fixture `kit`."""

from decimal import Decimal

from my_app.orders import Orders

HEADER = "id,at,product,quantity,price\n"


def test_an_order_has_the_types_of_its_schema(kit, tmp_path):
    (tmp_path / "orders.csv").write_text(HEADER + "1,2026-03-01T09:12:00Z,Tea,2,4.50\n")
    orders = kit.streamlet(Orders, parameters={"directory": tmp_path})
    orders.step()
    (order,) = orders.outlet("orders").take()
    assert order["at"].isoformat() == "2026-03-01T09:12:00+00:00"
    assert (order["product"], order["quantity"], order["price"]) == ("tea", 2, Decimal("4.50"))


def test_an_order_with_an_invalid_number_is_a_dead_letter(kit, tmp_path):
    (tmp_path / "orders.csv").write_text(HEADER + "5,2026-03-02T10:00:00Z,tea,many,4.50\n")
    orders = kit.streamlet(Orders, parameters={"directory": tmp_path})
    orders.step()
    assert orders.outlet("orders").take() == []
    assert len(orders.dead_letters.take()) == 1
