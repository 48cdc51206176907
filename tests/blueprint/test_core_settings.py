"""The settings of every application, and their typed values; invalid ones are in `tests/diagnostics/settings.md`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from blueprint.core_settings import (
    SETTINGS,
    ApplicationSettings,
    ClusterSettings,
    CommonSettings,
    InletSettings,
    MetricsSettings,
    OutletSettings,
    Retry,
    SecretPlace,
    StreamletSettings,
    TopicSettings,
    setting_of,
    setting_tree,
)
from blueprint.hocon import parse_text, resolve
from blueprint.kubernetes_settings import KubernetesSettings
from blueprint.quantities import duration
from blueprint.setting import declared_settings
from blueprint.setting_types import POSITIVE
from blueprint.settings.checks import setting_findings
from blueprint.settings.values import application_settings, streamlet_settings

_REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_setting_is_listed_once() -> None:
    """Keys are unique and have a description."""
    assert len({setting.path for setting in SETTINGS}) == len(SETTINGS)
    assert all(setting.doc.endswith(".") for setting in SETTINGS)


@pytest.mark.parametrize(
    "kind",
    [
        ApplicationSettings,
        ClusterSettings,
        CommonSettings,
        InletSettings,
        KubernetesSettings,
        MetricsSettings,
        OutletSettings,
        Retry,
        SecretPlace,
        StreamletSettings,
        TopicSettings,
    ],
)
def test_fields_have_the_defaults_of_their_settings(kind: type) -> None:
    """The field of a setting without a default has None, or an empty dict for options by name."""
    defaults = {field.name: {} if field.default is MISSING else field.default for field in fields(kind)}
    for name, setting in declared_settings(kind).items():
        assert (defaults[name] or None) == (setting.typed_default() or None), name


def test_settings_of_names() -> None:
    """A name that the user chooses matches `<...>`; a section is not a setting."""
    setting = setting_of(("streamlets", "any", "inlets", "in", "max-records"))
    assert setting is not None
    assert setting.type is POSITIVE
    assert setting_of(("streamlets", "any")) is None
    assert setting_of(("no", "such")) is None


def test_valid_settings_can_be_read() -> None:
    """Settings without findings have typed values."""
    text = "retry.min-backoff = 2s\nstreamlets.a { trigger.processing-time = 5 seconds, spark.sql.x = 1 }"
    tree, _ = resolve([parse_text(text, "t")], {})
    assert list(setting_findings(tree, setting_tree())) == []
    settings = streamlet_settings(tree, "a")
    assert settings.retry.min_backoff == duration("2 s")
    assert dict(settings.spark) == {"spark.sql.x": "1"}


def test_the_settings_of_metrics_are_a_section() -> None:
    """Without a port there are no metrics; a port that is not one is a finding."""
    tree, _ = resolve([parse_text("metrics { port = 9464, host = 0.0.0.0 }", "t")], {})
    assert list(setting_findings(tree, setting_tree())) == []
    assert application_settings(tree).metrics == MetricsSettings(port=9464, host="0.0.0.0")
    assert application_settings(resolve([parse_text("application = a", "t")], {})[0]).metrics.port is None
    for port in ("0", "65536", "http", "-1"):
        tree, _ = resolve([parse_text(f"metrics.port = {port}", "t")], {})
        (finding,) = setting_findings(tree, setting_tree())
        assert "must be a port from 1 to 65,535" in str(finding), finding


def test_the_settings_of_a_streamlet_win_over_those_of_all() -> None:
    """A setting of all streamlets applies to those that do not set it, even to 0."""
    text = "retry.stable-period = 1 minute\ntrigger = available-now\nstreamlets.a.retry.stable-period = 0s"
    tree, _ = resolve([parse_text(text, "t")], {})
    a, b = streamlet_settings(tree, "a"), streamlet_settings(tree, "b")
    assert (a.retry.stable_period, b.retry.stable_period) == (duration("0s"), duration("1 minute"))
    assert a.trigger == b.trigger is not None


@pytest.mark.parametrize("key", ["stuck-after", "patience", "on-start-timeout", "on-stop-timeout"])
def test_nothing_is_done_in_no_time(key: str) -> None:
    """A limit of 0 does not mean that there is none, as it does for `open-timeout`."""
    tree, _ = resolve([parse_text(f"{key} = 0s", "t")], {})
    (finding,) = setting_findings(tree, setting_tree())
    assert "must be a duration above 0" in str(finding), finding


_NEW = '    calm: int | None = setting(POSITIVE, "A setting of this test.")\n'
_USE = """
from blueprint.core_settings import setting_tree
from blueprint.hocon import parse_text, resolve
from blueprint.plan import StreamletPlan
from blueprint.settings.checks import setting_findings
from blueprint.settings.values import application_settings, streamlet_settings
from cli.main import main

def tree(value):
    return resolve([parse_text(f"streamlets.a.calm = {value}", "t")], {})[0]

assert streamlet_settings(tree(3), "a").calm == 3
assert StreamletPlan.__annotations__["settings"] == "StreamletSettings"
(finding,) = setting_findings(tree("often"), setting_tree())
assert finding.code == "setting-type", finding
main(["config", "--list"])
"""


def test_a_new_setting_is_one_line(tmp_path: Path) -> None:
    """A copy of the package with one more field lists, reads, checks and plans the setting."""
    shutil.copytree(_REPOSITORY / "blueprint", tmp_path / "blueprint", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "blueprint" / "core_settings.py"
    before, after, rest = file.read_text().partition("    retry_set: frozenset[str]")
    file.write_text(before + _NEW + after + rest)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(_REPOSITORY)))}
    ended = subprocess.run(
        [sys.executable, "-c", _USE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "calm" in ended.stdout and "A setting of this test." in " ".join(ended.stdout.split())
