"""What notebooks show of streamlets and ports."""

from __future__ import annotations

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet


class Totals(SparkStreamlet):
    """Adds <numbers>."""

    orders = AvroInlet(schema="id long not null, price double")
    totals = AvroOutlet(schema="schemas/missing.avsc")
    at_least = IntegerParameter("The `smallest` order", default=2)


def test_a_streamlet_shows_ports_and_parameters() -> None:
    """Fields of schemas, the path of one that cannot be read, and defaults."""
    html = Totals()._repr_html_()
    assert "<b>Totals</b>: Adds &lt;numbers&gt;." in html
    assert "<code>id</code> long, <code>price</code> [null, double]" in html
    assert "schemas/missing.avsc" in html
    assert "<code>at-least</code>" in html and "<code>2</code>" in html and "The <code>smallest</code> order" in html


def test_a_port_shows_its_fields() -> None:
    """Or that it has none of its own."""
    assert "<code>price</code>" in Totals.orders._repr_html_()
    assert AvroInlet("in")._repr_html_() == "inlet without a schema"
