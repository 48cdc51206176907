"""The table of settings, and the typed settings; invalid ones are in `tests/diagnostics/settings.md`."""

from __future__ import annotations

from dataclasses import fields

from blueprint.hocon import parse_text, resolve
from blueprint.plan import Retry
from blueprint.quantities import duration
from blueprint.setting_types import POSITIVE
from blueprint.settings.checks import setting_findings
from blueprint.settings.table import SETTINGS, setting_of, setting_tree
from blueprint.settings.values import streamlet_settings


def test_every_setting_is_listed_once() -> None:
    """Keys are unique and have a description."""
    assert len({setting.path for setting in SETTINGS}) == len(SETTINGS)
    assert all(setting.doc.endswith(".") for setting in SETTINGS)


def test_retry_settings_have_the_defaults_of_the_plan() -> None:
    """The table lists each field of `Retry` with its default."""
    for field in fields(Retry):
        setting = setting_of(("retry", field.name.replace("_", "-")))
        assert setting is not None
        tree, _ = resolve([parse_text(f"retry.{field.name.replace('_', '-')} = {setting.default}", "t")], {})
        assert list(setting_findings(tree, setting_tree())) == []
        assert getattr(streamlet_settings(tree, "any").retry, field.name) == field.default


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
