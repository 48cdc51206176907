"""`flow lineage` on an application whose logic is built once, with the Spark of the tests."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from blueprint.logic import BuiltLogic
from streamlets.lineage.application import ApplicationLineage
from streamlets.lineage.collector import LineageCollector
from streamlets.plans import LogicChecker
from streamlets.spark.session import SessionError
from tests.cli.conftest import Flow
from tests.pages import REPOSITORY, blocks, text_of
from tests.streamlets.lineage.kiosk_lineage import KIOSK, build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def kiosk(spark: SparkSession) -> ApplicationLineage:
    """The lineage of the kiosk."""
    return build(spark)


@pytest.fixture
def built(kiosk: ApplicationLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command take the lineage that is already known."""

    def check_logic(application: Any, observe: Any) -> BuiltLogic:
        observe.streamlets.update(kiosk.streamlets)
        return BuiltLogic()

    monkeypatch.setattr("streamlets.plans.check_logic", check_logic)


@pytest.mark.spark
def test_a_column(built: None, flow: Flow) -> None:
    """A column is shown with its type, where it comes from and who uses it, and the places in the code."""
    result = flow("lineage", "large.amount", str(KIOSK))
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[:2] == ["large.amount [null, double]", "  comes from"]
    assert "  ├─ orders.amount: [null, double], identity  [split, " in result.out
    assert "  └─ records decided by filter orders.amount  [split, " in result.out
    assert "  ├─ scores.score: [null, double], transformation  [scores, " in result.out
    assert "kiosk.py:" in result.out and "blueprint.conf:" in result.out


@pytest.mark.spark
def test_one_direction(built: None, flow: Flow) -> None:
    """--up and --down show one direction only, and both together show both."""
    assert "is used by" not in flow("lineage", "large.amount", str(KIOSK), "--up").out
    assert "comes from" not in flow("lineage", "large.amount", str(KIOSK), "--down").out
    both = flow("lineage", "large.amount", str(KIOSK), "--up", "--down").out
    assert "comes from" in both and "is used by" in both


@pytest.mark.spark
def test_all_topics(built: None, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a column, each column of each topic has a line, also in the working directory."""
    monkeypatch.chdir(KIOSK)
    result = flow("lineage")
    assert result.code == 0
    spent = next(line for line in result.out.splitlines() if line.split()[:2] == ["totals", "spent"])
    assert "double" in spent and spent.rstrip().endswith("aggregation of large.amount")


@pytest.mark.spark
def test_json(built: None, flow: Flow) -> None:
    """The same as JSON has OpenLineage's kinds, and the place of each step."""
    data = json.loads(flow("lineage", "totals.spent", str(KIOSK), "--format", "json", "--depth", "1").out)
    (column,) = data["columns"]
    assert (data["application"], column["topic"], column["column"], column["down"]) == ("kiosk", "totals", "spent", [])
    first, city, _ = column["up"]
    assert (first["name"], first["kind"], first["subtype"]) == ("large.amount", "DIRECT", "AGGREGATION")
    assert first["place"]["file"].endswith("blueprint.conf") and "steps" not in first
    assert (city["name"], city["kind"], city["subtype"], city["decides"]) == ("large.city", "INDIRECT", "FILTER", True)
    assert len(json.loads(flow("lineage", str(KIOSK), "--format", "json").out)["columns"]) == 17


@pytest.mark.spark
def test_secrets_are_masked(built: None, flow: Flow) -> None:
    """A password among the options of a source is not shown, in any format."""
    outputs = [flow("lineage", *arguments, str(KIOSK)).out for arguments in ((), ("orders",), ("--format", "json"))]
    assert all("password=" in output and "hunter2" not in output for output in outputs)


def test_an_unknown_column_starts_no_spark(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown name is an error with a suggestion, before any logic is built."""
    monkeypatch.setattr("streamlets.plans.check_logic", None)
    result = flow("lineage", "totals.spend", str(KIOSK))
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: there is no column or topic `totals.spend` in the application `kiosk`\n"
        "  help: did you mean `totals.spent`?\n"
    )


def test_findings_that_prevent_a_run(flow: Flow, tmp_path: Path) -> None:
    """An application with errors has its findings as the answer."""
    (tmp_path / "blueprint.conf").write_text("blueprint { streamlets { a = missing.Class } }")
    result = flow("lineage", "a.b", str(tmp_path))
    assert result.code == 1 and "missing" in result.err


def test_no_spark(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark that cannot be started is an error with help."""

    def check_logic(application: Any, observe: Any) -> BuiltLogic:
        raise SessionError("there is no Java", "install Java 17")

    monkeypatch.setattr("streamlets.plans.check_logic", check_logic)
    result = flow("lineage", "large.amount", str(KIOSK))
    assert result.code == 2 and "there is no Java" in result.err and "install Java 17" in result.err


@pytest.mark.spark
def test_the_page(spark: SparkSession, tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outputs in docs/lineage.md are those of the commands; `UPDATE_EXPECTED=1` writes them."""
    known = LineageCollector()
    checker = LogicChecker(spark, tmp_path / "plans", observe=known)

    def check_logic(application: Any, observe: Any) -> BuiltLogic:
        built = BuiltLogic() if known.streamlets else checker(application)
        observe.streamlets.update(known.streamlets)
        return built

    monkeypatch.setattr("streamlets.plans.check_logic", check_logic)
    monkeypatch.chdir(REPOSITORY)
    page = text_of("docs/lineage.md")
    for block in blocks("docs/lineage.md", "console"):
        command = block.partition("\n")[0]
        result = flow(*shlex.split(command.removeprefix("$ flow ")))
        page = page.replace(block, f"{command}\n{result.out}")
    if os.environ.get("UPDATE_EXPECTED"):
        (REPOSITORY / "docs" / "lineage.md").write_text(page, encoding="utf-8")
    assert page == text_of("docs/lineage.md")
