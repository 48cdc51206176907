"""The table of settings, and where values come from; what is refused stands in `tests/diagnostics/settings.md`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from blueprint.diagnostics import Sources
from blueprint.hocon import ObjectValue, parse_text, plain, resolve
from blueprint.plan import Retention, Retry
from blueprint.quantities import duration, memory_size
from blueprint.settings.checks import setting_findings
from blueprint.settings.explain import Settings, load_settings
from blueprint.settings.table import SETTINGS, SettingType, setting_of
from blueprint.settings.values import streamlet_settings, topic_retention

BLUEPRINT = """base = 5 minutes
blueprint {
  streamlets { average { class = app.Average, parameters.window = ${base} } }
}
"""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A blueprint, a file and two arguments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    (tmp_path / "a.conf").write_text("flow.streamlets.average {\n  parameters.window = 1 minute\n}\n")
    arguments = ["flow.retry.max-attempts=3", "flow.streamlets.average.parameters.window=2 minutes"]
    return load_settings(Path("blueprint.conf"), [Path("a.conf")], arguments, Sources(), {})


def test_every_setting_is_told_of_once() -> None:
    """Keys are unique and have a sentence."""
    assert len({setting.key for setting in SETTINGS}) == len(SETTINGS)
    assert all(setting.doc.endswith(".") for setting in SETTINGS)


def test_retry_settings_and_defaults_are_the_plan_s() -> None:
    """The table lists each field of `Retry` with the default it has there."""
    for field in fields(Retry):
        setting = setting_of(("retry", field.name.replace("_", "-")))
        assert setting is not None
        tree, _ = resolve([parse_text(f"retry.{field.name.replace('_', '-')} = {setting.default}", "t")], {})
        assert list(setting_findings(tree)) == []
        assert getattr(streamlet_settings(tree, "any").retry, field.name) == field.default


def test_a_topic_keeps_what_its_retention_says() -> None:
    """Time and size are read as quantities; left out, records stay for ever and until all have read them."""
    text = "topics.a.retention { time = 7 days, size = 10 GiB, keep-unread = false }"
    tree, _ = resolve([parse_text(text, "t")], {})
    assert list(setting_findings(tree)) == []
    assert topic_retention("a", tree) == Retention(duration("7 days"), memory_size("10 GiB"), keep_unread=False)
    assert topic_retention("b", tree) == Retention()
    assert not Retention().limited
    wrong, _ = resolve([parse_text("topics.a.retention { time = 10 GiB, size = 7 days, max = 1 }", "t")], {})
    assert [each.code for each in setting_findings(wrong)] == ["setting-type", "setting-type", "unknown-setting"]


def test_settings_of_names() -> None:
    """Names of the user's stand for `<...>`; sections are no settings."""
    setting = setting_of(("streamlets", "any", "inlets", "in", "max-records"))
    assert setting is not None
    assert setting.type is SettingType.POSITIVE
    assert setting_of(("streamlets", "any")) is None
    assert setting_of(("no", "such")) is None


def test_a_tree_without_faults_can_be_read() -> None:
    """What the check lets pass, the typed readers take."""
    text = "retry.min-backoff = 2s\nstreamlets.a { trigger.processing-time = 5 seconds, spark.sql.x = 1 }"
    tree, _ = resolve([parse_text(text, "t")], {})
    assert list(setting_findings(tree)) == []
    found = streamlet_settings(tree, "a")
    assert found.retry.min_backoff == duration("2 s")
    assert dict(found.spark) == {"spark.sql.x": "1"}


def test_later_layers_win(loaded: Settings) -> None:
    """Blueprint, then files, then arguments."""
    assert loaded.diagnostics == ()
    window = loaded.flow.get("streamlets", "average", "parameters", "window")
    assert window is not None
    assert plain(window) == "2 minutes"


def test_explain_names_every_layer(loaded: Settings) -> None:
    """Each place with its line, oldest first; the leading `flow` may be left out."""
    for key in ("flow.streamlets.average.parameters.window", "streamlets.average.parameters.window"):
        found = loaded.explain(key)
        assert found.key == "flow.streamlets.average.parameters.window"
        assert [(place.kind, place.text) for place in found.places] == [
            ("blueprint", "5 minutes"), ("file", "1 minute"), ("argument", "2 minutes"),
        ]  # fmt: skip
        spans = [place.span for place in found.places]
        assert [(span.file, span.line, span.column) for span in spans if span] == [
            ("blueprint.conf", 1, 8), ("a.conf", 2, 23), ("<arguments>", 2, 43),
        ]  # fmt: skip
        via = found.places[0].via
        assert via is not None
        assert (via.line, via.column) == (3, 67)


def test_explain_gives_defaults_and_near_keys(loaded: Settings) -> None:
    """A setting that nobody set has its default; what is no setting is answered with near ones."""
    found = loaded.explain("flow.retry.stable-period")
    assert (found.value, [place.text for place in found.places]) == (None, ["60 seconds"])
    wrong = loaded.explain("flow.retry.stable-periot")
    assert (wrong.setting, wrong.places) == (None, ())
    assert wrong.near[0] == "flow.retry.stable-period"
    assert loaded.explain("a..b").places == ()


def test_values_lists_what_is_set(loaded: Settings) -> None:
    """Every single value by its key, sorted."""
    assert [key for key, _ in loaded.values()] == [
        "flow.retry.max-attempts", "flow.streamlets.average.parameters.window",
    ]  # fmt: skip
    assert isinstance(loaded.flow, ObjectValue)
