"""The alert rules and the dashboard use only metrics and labels that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamlets.metrics.__main__ import FILES, main
from streamlets.metrics.families import FAMILIES
from streamlets.runner.events.health import HEALTHS
from tests.streamlets.metrics.test_families import series

PACKAGE = Path(__file__).parents[3] / "streamlets" / "metrics"
ALERTS = PACKAGE / "alerts.yml"
DASHBOARD = PACKAGE / "dashboard.json"
LABELS = {name: {*own, "job", "instance"} for family in FAMILIES for name, own in series(family).items()}
OTHERS = {"up", "process_resident_memory_bytes", "process_cpu_seconds_total"}
"""Metrics of Prometheus and of its client library."""


def alerts() -> list[dict[str, Any]]:
    """Return the alert rules."""
    rules: list[dict[str, Any]] = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"][0]["rules"]
    return rules


def expressions() -> Iterator[str]:
    """Yield the expressions of all rules, panels and variables."""
    yield from (rule["expr"] for rule in alerts())
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]


@pytest.mark.parametrize("expression", list(expressions()))
def test_expressions_use_metrics_and_labels_that_exist(expression: str) -> None:
    """In selectors, and by the names that a sum keeps."""
    names = set(re.findall(r"\b(?:streamlets|process)_\w+|\bup\b", expression))
    assert names, "an expression without a metric"
    assert names <= set(LABELS) | OTHERS
    known = set.union(*(LABELS.get(name, {"job", "instance"}) for name in names))
    for name, selector in re.findall(r"\b(streamlets_\w+)\{([^}]*)\}", expression):
        assert set(re.findall(r"(\w+)\s*(?:=~|!=|=)", selector)) <= LABELS[name], name
    for kept in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
        assert set(kept.split(", ")) <= known
    for health in re.findall(r'health="(\w+)"', expression):
        assert health in HEALTHS


def test_texts_use_labels_that_the_alert_has() -> None:
    """An alert that has lost a label would show an empty name."""
    for rule in alerts():
        names = set(re.findall(r"\bstreamlets_\w+|\bup\b", rule["expr"]))
        kept = re.search(r"^sum by \(([^)]*)\)", rule["expr"])
        known = set(kept[1].split(", ")) if kept else set.union(*(LABELS.get(n, {"job", "instance"}) for n in names))
        text = json.dumps(rule["annotations"])
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= known, rule["alert"]
        for metric in re.findall(r"`(streamlets_\w+)`", text):
            assert metric in LABELS


def test_every_alert_is_documented() -> None:
    """The page lists them, and no others."""
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(Streamlets?[A-Z]\w+)` \|", page, re.MULTILINE)) == {
        rule["alert"] for rule in alerts()
    }


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian package `prometheus`)")
def test_the_alerts_fire_when_they_should(tmp_path: Path) -> None:
    """The unit tests of `promtool` have a series for each alert, and every alert is in one of them."""
    text = (Path(__file__).parent / "alerts_test.yml").read_text(encoding="utf-8")
    assert {rule["alert"] for rule in alerts()} <= set(re.findall(r"alertname: (\w+)", text))
    test = tmp_path / "alerts_test.yml"
    test.write_text(text.replace("[RULES]", json.dumps([str(ALERTS)])))
    command = ["promtool", "test", "rules", str(test)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_do_not_overlap() -> None:
    """Each place of the grid has one panel."""
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    places = [
        (x, y)
        for grid in (panel["gridPos"] for panel in board["panels"])
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An installed package has them."""
    assert main([name]) == 0
    assert capsys.readouterr().out == (PACKAGE / name).read_text(encoding="utf-8")


def test_an_unknown_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the names."""
    assert main(["rules"]) == 2
    assert main([]) == 2
    assert "alerts.yml|dashboard.json" in capsys.readouterr().err
