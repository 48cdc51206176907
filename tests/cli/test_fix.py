"""`flow verify --fix` and `--diff` on files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.core_settings import SETTINGS
from blueprint.setting import Scope

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

ERRORS = Path(__file__).resolve().parent.parent.parent / "examples" / "errors"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a blueprint of version 1.x, with comments in its connections."""
    directory = tmp_path / "project"
    shutil.copytree(ERRORS / "connections", directory)
    blueprint = directory / "blueprint.conf"
    text = blueprint.read_text(encoding="utf-8").replace("connections {", "connections { # who feeds whom")
    blueprint.write_text(text, encoding="utf-8")
    blueprint.chmod(0o640)
    monkeypatch.chdir(directory)
    return directory


def test_fix_rewrites_files_and_verifies_again(flow: Flow, project: Path) -> None:
    """Fixes and remaining findings are reported; comments and permissions are kept; a second run changes nothing."""
    result = flow("verify", "--fix")
    assert result.code == 0
    assert result.out.startswith("blueprint.conf:7:3: fixed[connections-section]: write `topics`\n")
    assert "no findings" in result.out
    text = (project / "blueprint.conf").read_text(encoding="utf-8")
    assert "  # who feeds whom\n  topics {\n" in text
    assert (project / "blueprint.conf").stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in project.iterdir() if file.name != "__pycache__") == sorted(
        file.name for file in (ERRORS / "connections").iterdir() if file.name != "__pycache__"
    )
    again = flow("verify", "--fix")
    assert "fixed" not in again.out
    assert (project / "blueprint.conf").read_text(encoding="utf-8") == text


def test_diff_shows_the_same_and_writes_nothing(flow: Flow, project: Path) -> None:
    """The standard output has a unified diff, and the file is unchanged."""
    before = (project / "blueprint.conf").read_bytes()
    result = flow("verify", "--diff")
    assert result.code == 1
    heading, patch = result.out.split("\n", 1)
    assert heading == "# safe: blueprint.conf:7:3: [connections-section] write `topics`"
    assert patch.startswith("--- a/blueprint.conf\n+++ b/blueprint.conf\n@@")
    assert "\n+  topics {\n" in result.out
    assert "1 fixable, 0 remaining" in result.err
    assert (project / "blueprint.conf").read_bytes() == before


def test_diff_includes_findings_that_a_fix_reveals(flow: Flow, project: Path) -> None:
    """The diff has the same changes as `--fix`, including those of later rounds."""
    blueprint = project / "blueprint.conf"
    text = blueprint.read_text(encoding="utf-8")
    blueprint.write_text(
        f"{text}flow.streamlets.source.spark.title = @home\nflow.trigge = available-now\n", encoding="utf-8"
    )
    before = blueprint.read_text(encoding="utf-8")
    shown = flow("verify", "--diff")
    assert '+flow.streamlets.source.spark.title = "@home"\n' in shown.out
    assert "+flow.trigger = available-now\n" in shown.out
    assert "\n+  topics {\n" in shown.out
    assert "3 fixable, 0 remaining" in shown.err
    assert blueprint.read_text(encoding="utf-8") == before
    assert flow("verify", "--fix").out.count("fixed[") == 3
    after = blueprint.read_text(encoding="utf-8")
    added = {line[1:] for line in shown.out.splitlines() if line.startswith("+") and not line.startswith("+++")}
    assert added == set(after.splitlines()) - set(before.splitlines())


EU_AND_US = """\
blueprint {
  streamlets {
    eu { class = shop.Orders }
    us { class = shop.Orders }
    archive-eu { class = shop.Archive }
    # archive-us { class = shop.Archive }
  }
  topics {
    orders-eu { producers = [eu.out], consumers = [archive-eu.in] }
    orders-us { producer = [us.out], consumers = [archive-us.in] }
  }
}
"""
MISSPELT = EU_AND_US.replace("# archive-us", "depot").replace("archive-us", "depto")
SHOP = """\
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Nothing(SparkStreamletLogic):
    def build_streaming_queries(self):
        return []


class Orders(SparkStreamlet):
    out = AvroOutlet(schema="id bigint")
    Logic = Nothing


class Archive(SparkStreamlet):
    in_ = AvroInlet("in", schema="id bigint")
    Logic = Nothing
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two archives with similar names; one of them is commented out, and its topic is not."""
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "blueprint.conf").write_text(EU_AND_US, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "blueprint.conf"


@pytest.mark.parametrize("unsafe", [False, True])
def test_no_fix_binds_a_port_that_is_bound(flow: Flow, shop: Path, unsafe: bool) -> None:
    """Records for a missing archive never go to the other one; a misspelt key is fixed."""
    result = flow("verify", "--fix", *(["--unsafe-fixes"] if unsafe else []))
    assert result.code == 1
    assert "there is no streamlet `archive-us`" in result.out
    assert shop.read_text(encoding="utf-8") == EU_AND_US.replace("producer ", "producers ")


def test_unsafe_fixes_are_applied_on_request(flow: Flow, shop: Path) -> None:
    """A similar name of a free port is a guess: `--fix` counts it, `--unsafe-fixes` applies it."""
    shop.write_text(MISSPELT, encoding="utf-8")
    result = flow("verify", "--fix")
    assert result.code == 1
    assert "1 unsafe fix was not applied" in result.err
    assert shop.read_text(encoding="utf-8") == MISSPELT.replace("producer ", "producers ")
    result = flow("verify", "--fix", "--unsafe-fixes")
    assert "fixed[unknown-streamlet] (unsafe): write `depot.in`" in result.out
    assert result.code == 0
    assert shop.read_text(encoding="utf-8") == MISSPELT.replace("producer ", "producers ").replace("depto", "depot")


def test_diff_marks_safe_and_unsafe_fixes(flow: Flow, shop: Path) -> None:
    """The safe fixes are a first patch and the unsafe ones a second, each after the list of its fixes."""
    shop.write_text(MISSPELT, encoding="utf-8")
    safe = flow("verify", "--diff")
    assert "# safe: blueprint.conf:10:17: [unknown-key] write `producers`\n" in safe.out
    assert "+    orders-us { producers = [us.out], consumers = [depto.in] }" in safe.out
    assert "depot.in" not in safe.out
    assert "1 unsafe fix was not shown" in safe.err
    both = flow("verify", "--diff", "--unsafe-fixes")
    assert both.out.startswith(safe.out)
    assert "# unsafe: blueprint.conf:10:52: [unknown-streamlet] write `depot.in`\n" in both.out[len(safe.out) :]
    shutil.copytree(shop.parent, shop.parent / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["patch", "-p1"], input=both.out, cwd=shop.parent / "copy", text=True, check=True)
    patched = (shop.parent / "copy" / "blueprint.conf").read_text(encoding="utf-8")
    assert patched == MISSPELT.replace("producer ", "producers ").replace("depto", "depot")
    assert shop.read_text(encoding="utf-8") == MISSPELT


def test_unsafe_fixes_alone_are_refused(flow: Flow, shop: Path) -> None:
    """The option has no effect without `--fix` or `--diff`, which is a usage error."""
    result = flow("verify", "--unsafe-fixes")
    assert result.code == 2
    assert "--unsafe-fixes needs --fix or --diff" in result.err


def test_json_has_the_class_of_a_fix(flow: Flow, shop: Path) -> None:
    """`applicability` is `safe` or `unsafe`."""
    shop.write_text(MISSPELT, encoding="utf-8")
    findings = json.loads(flow("verify", "--format", "json").out)["diagnostics"]
    assert {finding["code"]: finding["fix"]["applicability"] for finding in findings} == {
        "unknown-key": "safe",
        "unknown-streamlet": "unsafe",
    }


def test_fixes_are_reported_on_the_standard_error_with_json(flow: Flow, project: Path) -> None:
    """The standard output is one JSON document."""
    result = flow("verify", "--fix", "--format", "json")
    assert json.loads(result.out)["diagnostics"] == []
    assert "fixed[connections-section]" in result.err


def test_files_outside_the_project_and_arguments_are_not_fixed(flow: Flow, project: Path) -> None:
    """Only files in the blueprint's directory are changed; errors elsewhere are reported."""
    shared = project.parent / "shared.conf"
    shared.write_text("flow.trigge = available-now\n", encoding="utf-8")
    result = flow("verify", "--fix", "--conf", str(shared), "flow.retry.enable=true")
    assert result.code == 1
    assert result.out.count("error[unknown-setting]") == 2
    assert shared.read_text(encoding="utf-8") == "flow.trigge = available-now\n"


@pytest.mark.parametrize("camel_case", [True, False])
def test_settings_of_ports_with_the_names_of_pypz_are_renamed(flow: Flow, project: Path, camel_case: bool) -> None:
    """Each is a finding, its fix is safe, and the value stays: a number is in milliseconds in both."""
    names = {
        (setting.scope, other): setting.key
        for setting in SETTINGS
        for other in setting.elsewhere
        if (other.lower() != other) == camel_case
    }
    values = {"sequential": "true", "sync-open": "true", "open-timeout": "30000"}
    lines = {Scope.INLET: ["  inlets.in {"], Scope.OUTLET: ["  outlets.out {"]}
    ours = {Scope.INLET: ["  inlets.in {"], Scope.OUTLET: ["  outlets.out {"]}
    for (scope, other), key in names.items():
        lines[scope].append(f"    {other} = {values[key]}")
        ours[scope].append(f"    {key} = {values[key]}")
    blueprint = project / "blueprint.conf"
    text = blueprint.read_text(encoding="utf-8")
    shown = "\n  }\n".join("\n".join(block) for block in lines.values())
    blueprint.write_text(f"{text}\nflow.streamlets.step {{\n{shown}\n  }}\n}}\n", encoding="utf-8")
    result = flow("verify", "--fix")
    assert result.out.count("fixed[unknown-setting]") == len(names) == 4, result.out
    text = blueprint.read_text(encoding="utf-8")
    assert all("\n".join(block) in text for block in ours.values()), text
