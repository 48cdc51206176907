"""Curves of rates in the table of streamlets."""

from __future__ import annotations

from cli.output.sparkline import rates, sparkline
from streamlets.runner.samples.sample import Sample

NOW = 10_000.0


def test_a_curve_is_as_high_as_its_largest_value() -> None:
    """Zero is the lowest character, and a time without a sample is blank."""
    assert sparkline([0.0, 1.0, 2.0, 4.0, 8.0, None, 8.0]) == "▁▂▃▅█ █"
    assert sparkline([0.0, 0.0]) == "▁▁"
    assert sparkline([None]) == " "
    assert sparkline([]) == ""


def test_the_queries_of_a_streamlet_are_one_curve() -> None:
    """The samples of ten minutes are twelve means; older ones, and times in the future, are omitted."""
    samples = [
        Sample(time=NOW + at, streamlet="a", query=query, rate_in=rate)
        for query in ("x", "y")
        for at, rate in ((-700.0, 99.0), (-30.0, 1.0), (-20.0, 3.0), (-80.0, 4.0), (60.0, 99.0))
    ]
    assert rates(samples, NOW) == {"a": " " * 10 + "█▅"}


def test_a_streamlet_that_reads_nothing_has_the_curve_of_what_it_writes() -> None:
    """As the rate of the table."""
    assert rates([Sample(time=NOW, streamlet="spout", rate_out=5.0)], NOW) == {"spout": " " * 11 + "█"}
