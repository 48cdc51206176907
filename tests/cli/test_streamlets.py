"""`flow streamlets`: what classes a project has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def test_classes_with_ports_schemas_and_parameters(flow: Flow) -> None:
    """Every class is listed with its role, ports, schema and parameters."""
    said = flow("streamlets", str(EXAMPLES / "sensors"))
    assert said.code == 0
    assert "gauges.average.MovingAverage  (processor)" in said.out
    assert "value double" in said.out
    assert "parameter window: duration = 1 minute" in said.out


def test_classes_as_data(flow: Flow) -> None:
    """`--format json` carries whole schemas."""
    said = flow("streamlets", str(EXAMPLES / "flights"), "--format", "json")
    found = {each["class"]: each for each in json.loads(said.out)}
    assert found["nyc.splitter.Splitter"]["role"] == "processor"
    assert [port["name"] for port in found["nyc.splitter.Splitter"]["outlets"]] == ["cancelled", "flown", "invalid"]
    assert found["nyc.ingress.Weather"]["outlets"][0]["schema"]["name"].endswith("Weather")


def test_a_class_that_cannot_be_described_is_told(flow: Flow) -> None:
    """The others are listed all the same, the reason is given, and the exit code is 1."""
    said = flow("streamlets", str(EXAMPLES / "errors" / "constructor-raises"))
    assert said.code == 1
    assert "app.Printer  (egress)" in said.out
    assert "GAUGE_NAMES" in said.out


def test_no_such_folder(flow: Flow) -> None:
    """A path that is not there is a mistake in the arguments."""
    assert flow("streamlets", "/nowhere/at/all/blueprint.conf").code == 2
