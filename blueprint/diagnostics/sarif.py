"""Findings in SARIF 2.1.0, the format of code scanning on GitHub and of many editors.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0. Columns count Unicode characters, as spans do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from blueprint.diagnostics.codes import CODES
from blueprint.diagnostics.model import Diagnostic, Edit, Fix, Label, Span
from blueprint.diagnostics.report import Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "WORKINGDIRECTORY"

Json = dict[str, object]


def render_sarif(report: Report, *, color: bool = False, width: int = 80) -> str:
    """Return a SARIF log with one run; its rules are the codes of the findings.

    Arguments:
        report: the findings.
        color: ignored.
        width: ignored.
    """
    from importlib.metadata import version  # slow to import, and only this format needs it

    codes = sorted({diagnostic.code for diagnostic in report.diagnostics})
    places = {code: index for index, code in enumerate(codes)}
    driver: Json = {
        "name": "Streamlets",
        "semanticVersion": version("streamlets"),
        "rules": [_rule(code) for code in codes],
    }
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"uri": f"{Path(report.sources.path('')).absolute().as_uri()}/"}},
        "results": [_result(diagnostic, places, report.blueprint) for diagnostic in report.diagnostics],
    }
    document: Json = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _rule(code: str) -> Json:
    from blueprint.diagnostics.manual import page

    text = page(code)
    return {
        "id": code,
        "shortDescription": {"text": CODES[code].meaning},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": CODES[code].severity.value},
    }


def _result(diagnostic: Diagnostic, places: Mapping[str, int], blueprint: str) -> Json:
    result: Json = {
        "ruleId": diagnostic.code,
        "ruleIndex": places[diagnostic.code],
        "level": diagnostic.severity.value,
        "message": {"text": _message(diagnostic)},
        "locations": [_primary(diagnostic.primary, blueprint)],
    }
    frames = [Label(frame.span, f"raised in {frame.function}") for frame in diagnostic.frames]
    related = [_location(label) for label in dict.fromkeys((*diagnostic.secondary, *frames)) if _is_file(label.span)]
    if related:
        result["relatedLocations"] = related
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(diagnostic.fix)]
    return result


def _message(diagnostic: Diagnostic) -> str:
    lines = [diagnostic.headline]
    if diagnostic.primary is not None and diagnostic.primary.message:
        lines.append(f"here: {diagnostic.primary.message}")
    if diagnostic.primary is not None and not _is_file(diagnostic.primary.span):
        lines.append(f"at {diagnostic.primary.span.file}")
    lines += [f"because: {cause}" for cause in diagnostic.causes]
    lines += [f"help: {help}" for help in diagnostic.help]
    return "\n".join(lines)


def _primary(label: Label | None, blueprint: str) -> Json:
    """Return where a finding is shown: GitHub shows only findings in a file, so the others are in the blueprint."""
    if label is None or not _is_file(label.span):
        return {"physicalLocation": {"artifactLocation": _artifact(blueprint)}}
    return _location(label)


def _location(label: Label) -> Json:
    place: Json = {"artifactLocation": _artifact(label.span.file), "region": _region(label.span)}
    return {"physicalLocation": place, **({"message": {"text": label.message}} if label.message else {})}


def _is_file(span: Span) -> bool:
    return not span.file.startswith("<")


def _artifact(file: str) -> Json:
    if Path(file).is_absolute():
        return {"uri": Path(file).as_uri()}
    return {"uri": quote(Path(file).as_posix()), "uriBaseId": _BASE}


def _region(span: Span) -> Json:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fix(fix: Fix) -> Json:
    files = dict.fromkeys(edit.span.file for edit in fix.edits)
    changes = [
        {
            "artifactLocation": _artifact(file),
            "replacements": [_replacement(edit) for edit in fix.edits if edit.span.file == file],
        }
        for file in files
    ]
    return {"description": {"text": fix.title}, "artifactChanges": changes}


def _replacement(edit: Edit) -> Json:
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.replacement}}
