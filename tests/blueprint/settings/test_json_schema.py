"""The JSON Schema of blueprints: it accepts valid ones and finds mistakes, and has every setting."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from blueprint.diagnostics import Severity
from blueprint.hocon import parse_file, resolve
from blueprint.hocon.values import plain
from blueprint.setting import SettingNode, tree_of
from blueprint.settings.json_schema import blueprint_schema
from blueprint.settings.known_settings import every_setting
from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog
from tests.cli.conftest import Flow, flow

__all__ = ["flow"]

REPOSITORY = Path(__file__).resolve().parents[3]
SETTINGS = every_setting(ProjectCatalog().channels().values())
SCHEMA: Any = blueprint_schema(SETTINGS)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PROJECTS = sorted(
    file.parent
    for directory in ("examples", "cli/templates")
    for file in (REPOSITORY / directory).glob("*/blueprint.conf")
    if file.parent.name != "errors"
)


def as_yaml(directory: Path) -> str:
    """Return the blueprint of a project in YAML, with its substitutions resolved."""
    file = directory / "blueprint.conf"
    tree, findings = resolve([parse_file(file)], os.environ)
    assert not findings
    data: Any = plain(tree)
    return yaml.safe_dump({key: data[key] for key in ("blueprint", "flow") if key in data})


def mistakes(document: object) -> list[str]:
    """Return the dotted paths of mistakes; of a choice between forms, those in the form that fits best."""
    errors = [jsonschema.exceptions.best_match([error]) for error in VALIDATOR.iter_errors(document)]
    return sorted(".".join(map(str, error.absolute_path)) for error in errors)


def test_the_schema_is_valid() -> None:
    """By the schema of schemas."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("directory", PROJECTS, ids=lambda directory: directory.name)
def test_examples_are_valid(directory: Path) -> None:
    """Every example and template, converted to YAML."""
    assert mistakes(yaml.safe_load(as_yaml(directory))) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("blueprint: {streamlet: {}}", "blueprint"),
        ("blueprint: {streamlets: {a: {clas: m.C}}}", "blueprint.streamlets.a"),
        ("blueprint: {streamlets: {a: 3}}", "blueprint.streamlets.a"),
        ("blueprint: {topics: {t: {producers: a.out}}}", "blueprint.topics.t.producers"),
        ("blueprint: {topics: {t: {producers: [out]}}}", "blueprint.topics.t.producers.0"),
        ("blueprint: {topics: {t: {producer: [a.out]}}}", "blueprint.topics.t"),
        ("blueprint: {topics: {t: {managed: maybe}}}", "blueprint.topics.t.managed"),
        ("flow: {isolation: threads}", "flow.isolation"),
        ("flow: {isolations: process}", "flow"),
        ("flow: {trigger: {processing: 5 s}}", "flow.trigger"),
        ("flow: {retry: {max-attempts: -1}}", "flow.retry.max-attempts"),
        ("flow: {streamlets: {a: {inlets: {in: {max-records: 0}}}}}", "flow.streamlets.a.inlets.in.max-records"),
        ("flow: {streamlets: {a: {retry: {enabled: perhaps}}}}", "flow.streamlets.a.retry.enabled"),
        ("flow: {verify: {rules: {cycle: fatal}}}", "flow.verify.rules.cycle"),
    ],
)
def test_mistakes_are_found_at_their_place(text: str, path: str) -> None:
    """Unknown keys, wrong types and wrong values."""
    assert mistakes(yaml.safe_load(text)) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "blueprint: {streamlets: {a: {class: m.C, parameters.rate: 3, retry: {max-attempts: '5'}}}}",
        "flow: {trigger: available-now}",
        "flow: {streamlets: {a: {inlets: {in: schemas/A.avsc, other: {schema: x, max-records: 5}}}}}",
        "flow: {runtimes: {spark: {spark.sql.shuffle.partitions: 2, x: {y: 1}}}, retry: {enabled: null}}",
        "flow: {topics: {a.b: {channel: delta, topic: {name: x, anything: 3}}}}",
        "base: {class: m.C}\nflow.isolation: process",
    ],
)  # fmt: skip
def test_forms_that_verification_accepts_are_valid(text: str) -> None:
    """Short and long forms, dotted keys, numbers as strings, null, and definitions of the user."""
    assert mistakes(yaml.safe_load(text)) == []


def test_every_setting_has_its_place_and_description() -> None:
    """Below `flow`; the description is that of the table."""

    def check(node: SettingNode, schema: Any, path: str) -> None:
        if node.setting is not None:
            assert node.setting.doc in schema["description"], path
        for key, child in node.children.items():
            forms = [schema, *schema.get("anyOf", [])]
            properties = next(form["properties"] for form in forms if "properties" in form)
            check(child, properties[key], f"{path}.{key}")

    check(tree_of(SETTINGS), SCHEMA["properties"]["flow"], "flow")


def test_a_blueprint_that_verifies_in_yaml_is_valid(tmp_path: Path) -> None:
    """The converted template has no findings of `flow verify` either, so the conversion keeps its meaning."""
    template = REPOSITORY / "cli" / "templates" / "files-to-delta"
    for file in template.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts and file.name != "blueprint.conf":
            target = tmp_path / file.relative_to(template)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    (tmp_path / "blueprint.yaml").write_text(as_yaml(template), encoding="utf-8")
    found = verify(tmp_path / "blueprint.yaml", catalog=ProjectCatalog(), environment={}, working_directory=tmp_path)
    assert [finding for finding in found.diagnostics if finding.severity is not Severity.NOTE] == []


def test_the_command_writes_the_schema(flow: Flow) -> None:
    """With the settings of all channels."""
    result = flow("schema")
    assert result.code == 0
    assert json.loads(result.out) == SCHEMA
