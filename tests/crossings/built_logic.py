"""Applications under the commands that build their logic, and a step of the testkit, with the Spark of all tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from blueprint.logic import BuildableApplication, BuiltLogic
from cli.main import flow
from streamlets.lineage.collector import LineageCollector
from streamlets.plans import LogicChecker
from streamlets.testkit import ApplicationUnderTest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPECTED = ("discovery-next", "topic-without-consumers")
"""What is found in a valid application: a timetable, and a topic that nothing reads."""


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """Remove the modules of applications afterwards: several have one of the same name."""
    before, path = set(sys.modules), [*sys.path]
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def logic(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have commands build logic in the Spark of all tests: once for all commands, with all that one of them needs.

    In the end the lineage of everything that was built is known, without an exception.
    """
    lineage = LineageCollector()
    check, built = LogicChecker(spark, tmp_path / "plans", observe=lineage), dict[str, BuiltLogic]()

    def build_once(application: BuildableApplication) -> BuiltLogic:
        if application.name not in built:
            with_state = tuple(replace(streamlet, state=True) for streamlet in application.streamlets)
            built[application.name] = check(replace(application, streamlets=with_state))
        return built[application.name]

    monkeypatch.setattr("streamlets.plans.check_logic", build_once)
    yield
    for ref, known in lineage.streamlets.items():
        assert known.outputs and not known.unknown, ref
        for output in known.outputs:
            columns = [".".join(path) for path, column in output.columns.items() if column.unknown]
            assert (output.columns != {}, columns, output.unknown) == (True, [], ()), f"{ref}, {output.query}"


def run(*arguments: str) -> str:
    """Run a command, which succeeds, and return its output."""
    result = CliRunner().invoke(flow, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def check_logic(*application: str, shown: tuple[str, ...] = ()) -> None:
    """Require that an application has no findings, and that its descriptor has the queries of each streamlet on Spark.

    Arguments:
        application: its file and its settings.
        shown: further codes of findings that it shows.
    """
    report = json.loads(run("verify", "--plans", "--format", "json", *application))
    known = (*EXPECTED, *shown)
    assert [finding["headline"] for finding in report["diagnostics"] if finding["code"] not in known] == []
    described = json.loads(run("describe", "--plans", *application))
    built = [ref for ref, streamlet in described["streamlets"].items() if streamlet.get("queries")]
    assert len(built) == report["checked"]["logic"]


def check_step(app: ApplicationUnderTest, valid: Callable[[str], bool] = lambda topic: True) -> int:
    """Step an application; each streamlet reads all records of its inlets, and no record breaks a contract.

    Arguments:
        app: the application.
        valid: whether the dead letters with a name are to be empty; dead letters that a streamlet reads may have some.

    Returns:
        The number of records in all topics.
    """
    steps: Any = app.step()
    records = {topic.id: len(app.topic(topic.id).all()) for topic in app.plan.topics}
    for own in app.plan.streamlets:
        if own.inlets:
            assert steps[own.ref].rows_in >= sum(records[inlet.topic] for inlet in own.inlets), own.ref
    read = {inlet.topic for own in app.plan.streamlets for inlet in own.inlets}
    letters = {own.dead_letters for own in app.plan.streamlets if own.dead_letters is not None} - read
    assert [topic for topic in letters if records[topic] and valid(topic)] == []
    return sum(records.values())
