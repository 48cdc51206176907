"""Findings in SARIF: the document follows the standard's schema, and has what code scanning shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from blueprint.diagnostics import Diagnostic, Edit, Fix, FixKind, Frame, Label, Sources, Span, finding
from blueprint.diagnostics.renderers import RENDERERS
from tests.blueprint.diagnostics.test_machine_formats import FINDINGS, HERE, Made, _Placed
from tests.cli.conftest import Flow, flow

__all__ = ["flow"]

REPOSITORY = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0-excerpt.json").read_text(encoding="utf-8"))


def run_of(text: str) -> Any:
    """Return the run of a document that follows the schema."""
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA, jsonschema.Draft7Validator)
    (run,) = document["runs"]
    return run


def results(*findings: Diagnostic, directory: str = "/repository/app") -> Any:
    """Return the results for findings."""
    return run_of(RENDERERS["sarif"](_Placed(findings, sources=Sources(directory))))["results"]


def test_each_finding_is_a_result_of_a_rule() -> None:
    """The rules are the codes, with their pages; the index of a result points at its rule."""
    run = run_of(RENDERERS["sarif"](Made()))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["cycle", "topic-unused", "unknown-key"]
    assert all(rule["help"]["markdown"].startswith(f"# {rule['id']}") for rule in rules)
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("cycle", "error"), ("unknown-key", "error"), ("topic-unused", "warning"),
    ]  # fmt: skip
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_a_result_has_places_causes_and_help() -> None:
    """Secondary places and frames are related locations."""
    region = {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 8}
    place = {"artifactLocation": {"uri": "a.conf", "uriBaseId": "WORKINGDIRECTORY"}, "region": region}
    (_, result, _) = results(*FINDINGS)
    assert result["message"] == {"text": "no key `naem`\nhere: here\nbecause: why\nhelp: do"}
    assert result["locations"] == [{"physicalLocation": place, "message": {"text": "here"}}]
    assert result["relatedLocations"] == [
        {"physicalLocation": place, "message": {"text": "there"}},
        {"physicalLocation": place, "message": {"text": "raised in f"}},
    ]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": "name"}}]


def test_findings_that_are_in_no_file_are_shown_in_the_blueprint() -> None:
    """GitHub drops a result without a file."""
    typed = finding("unknown-key", "no key `naem`", Span("<arguments>", 1, 1, 1, 5), also=(Label(HERE, "there"),))
    without_place, argument = results(finding("cycle", "`a` reads what it writes"), typed)
    blueprint = [{"physicalLocation": {"artifactLocation": {"uri": "a.conf", "uriBaseId": "WORKINGDIRECTORY"}}}]
    assert without_place["locations"] == argument["locations"] == blueprint
    assert argument["message"]["text"] == "no key `naem`\nat <arguments>"
    assert len(argument["relatedLocations"]) == 1


def test_paths_are_uris() -> None:
    """Spaces and other characters are escaped; a path outside of the working directory is absolute."""
    spans = [Span("my app/ä.conf", 1, 1, 1, 2), Span("/elsewhere/a b.conf", 1, 1, 1, 2)]
    places = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]
        for result in results(*(finding("cycle", "x", span, frames=(Frame(span, "f"),)) for span in spans))
    ]
    assert places == [
        {"uri": "my%20app/%C3%A4.conf", "uriBaseId": "WORKINGDIRECTORY"},
        {"uri": "file:///elsewhere/a%20b.conf"},
    ]


def test_edits_are_grouped_by_file() -> None:
    """A fix of several files has one change for each."""
    other = Span("b.conf", 1, 1, 1, 2)
    edits = (Edit(HERE, "x"), Edit(other, "y"), Edit(HERE, "z"))
    (result,) = results(finding("cycle", "x", HERE, fix=Fix(FixKind.RENAME_KEY, "rename", edits)))
    changes = result["fixes"][0]["artifactChanges"]
    assert [len(change["replacements"]) for change in changes] == [2, 1]


def test_flow_verify_writes_sarif(flow: Flow) -> None:
    """Of an application with errors; the exit code is as usual."""
    result = flow("verify", "examples/errors/port-typo", "--format", "sarif")
    run = run_of(result.out)
    assert result.code == 1
    assert "unknown-port" in {entry["ruleId"] for entry in run["results"]}
    base = Path.cwd().as_uri() + "/"
    assert run["originalUriBaseIds"] == {"WORKINGDIRECTORY": {"uri": base}}


def test_the_hook_is_the_one_on_the_page() -> None:
    """`.pre-commit-hooks.yaml` and the example for a local hook call the same command."""
    (hook,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    page = (REPOSITORY / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    block = next(text for text in page.split("```yaml\n") if text.startswith("repos:")).split("```")[0]
    (local,) = yaml.safe_load(block)["repos"][0]["hooks"]
    shared = ("id", "entry", "language", "files", "pass_filenames")
    assert {key: hook[key] for key in shared} == {key: local[key] for key in shared}
