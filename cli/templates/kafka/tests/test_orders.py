"""The orders, step by step. The plugin of Streamlets provides the fixture `kit`."""

from pathlib import Path

from my_app.orders import Orders

PROJECT = Path(__file__).parent.parent


def test_products_are_in_lower_case(kit, tmp_path):
    (tmp_path / "orders.jsonl").write_text('{"id": 1, "product": "Tea", "quantity": 2, "price": 4.5}\n')
    orders = kit.streamlet(Orders, parameters={"directory": tmp_path})
    orders.step()
    assert orders.outlet("orders").take() == [{"id": 1, "product": "tea", "quantity": 2, "price": 4.5}]


def test_an_order_without_a_price_is_a_dead_letter(kit, tmp_path):
    (tmp_path / "orders.jsonl").write_text('{"id": 2, "product": "tea", "quantity": 1}\n')
    orders = kit.streamlet(Orders, parameters={"directory": tmp_path})
    orders.step()
    assert orders.outlet("orders").take() == []
    assert len(orders.dead_letters.take()) == 1


def test_the_application_shows_the_sample_data(kit):
    app = kit.application(PROJECT / "blueprint.conf", arguments=["flow.channel=delta"])  # needs no broker
    app.step()
    assert sorted(row["id"] for row in app.sink("screen").take()) == [1, 2, 3]
