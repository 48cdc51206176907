"""Verification reports what the specification in this directory shows; see `specification.py` for its form."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from blueprint.diagnostics.codes import FAMILIES
from blueprint.diagnostics.renderers import RENDERERS
from blueprint.logic import LogicCheck
from blueprint.verification.verify import verify
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog
from tests.diagnostics.specification import Case, cases

HERE = Path(__file__).parent
DOCUMENTS = sorted(HERE.glob("*.md"))
ELSEWHERE = {
    "Samples: with `--sample`": "reads data: `docs/diagnostics/` and `tests/streamlets/sampling/`",
    "Logic: with `--plans`": "takes a Spark session: `docs/diagnostics/` and `tests/streamlets/plans/`",
    "Changes: with `--against`": "takes an older descriptor: `docs/diagnostics/` and `tests/blueprint/comparison/`",
}
CASES = [case for document in DOCUMENTS for case in cases(document)]
WITH_LOGIC = "plans.md"
"""The document whose applications have their logic built, in the Spark session of all tests."""


@pytest.fixture
def logic(case: Case, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> LogicCheck | None:
    """Return the check of logic, for the document about it."""
    if case.document != WITH_LOGIC:
        return None
    return LogicChecker(request.getfixturevalue("spark"), tmp_path_factory.mktemp("plans"))


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case), marks=pytest.mark.spark if case.document == WITH_LOGIC else ())
             for case in CASES],
)  # fmt: skip
def test_report_is_as_specified(
    case: Case, logic: LogicCheck | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report of an application is exactly the one that its section shows."""
    assert report(case, tmp_path, monkeypatch, logic) == case.expected


def report(case: Case, directory: Path, monkeypatch: pytest.MonkeyPatch, logic: LogicCheck | None = None) -> str:
    """Return the report of a case, 80 columns wide."""
    monkeypatch.chdir(directory)
    for name, text in case.files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    named = (name for name in ("blueprint.conf", "blueprint.yaml", "job.sql") if name in case.files)
    verification = verify(
        next(named, "blueprint.conf"), catalog=ProjectCatalog(), conf_files=case.conf, arguments=case.arguments,
        environment={}, working_directory=directory, logic=logic,
    )  # fmt: skip
    text = RENDERERS["full"](verification)
    if os.environ.get("UPDATE_SPECIFICATION"):  # the change is then read in the diff
        document = HERE / case.document
        now = next(current for current in cases(document) if current.title == case.title)
        whole = document.read_text(encoding="utf-8")
        document.write_text(whole[: now.start] + text + whole[now.end :], encoding="utf-8")
        return case.expected
    return text


def test_every_code_has_a_case() -> None:
    """Each code is in an expected report, except those of families that a single document cannot show."""
    assert set(ELSEWHERE) <= set(FAMILIES)
    expected = {code for family, codes in FAMILIES.items() if family not in ELSEWHERE for code in codes}
    shown = {code for case in CASES for code in re.findall(r"^\w+\[([a-z-]+)\]:", case.expected, re.MULTILINE)}
    assert expected - shown == set()


def test_every_document_has_a_valid_application() -> None:
    """Each family of rules has at least one case without findings."""
    silent = {case.document for case in CASES if ": no findings;" in " ".join(case.expected.split())}
    assert silent == {document.name for document in DOCUMENTS}
