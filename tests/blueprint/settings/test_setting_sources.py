"""The sources of settings, as `flow config` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.catalog import ParameterDescriptor, ParameterType, StreamletDescriptor
from blueprint.core_settings import setting_tree
from blueprint.diagnostics import Span
from blueprint.hocon import ObjectValue, plain
from blueprint.settings.setting_sources import SettingSource, setting_defaults, setting_sources
from blueprint.verification.verify import Verification, verify
from tests.blueprint.paper import PaperCatalog, at, streamlet

BLUEPRINT = """base = 5 minutes
blueprint {
  streamlets { average { class = app.Average, parameters.window = ${base}, parameters.password = abc } }
}
"""
ARGUMENTS = ["flow.retry.max-attempts=3", "flow.streamlets.average.parameters.window=2 minutes"]
WINDOW = "flow.streamlets.average.parameters.window"


@pytest.fixture
def verification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Verification:
    """The verification of a blueprint with a settings file and two arguments, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    (tmp_path / "a.conf").write_text("flow.streamlets.average {\n  parameters.window = 1 minute\n}\n")
    return verified()


def verified() -> Verification:
    """Verify the application of the working directory."""
    return verify(
        "blueprint.conf", catalog=PaperCatalog(), conf_files=["a.conf"], arguments=ARGUMENTS, environment={},
        working_directory=Path.cwd(),
    )  # fmt: skip


def settings(verification: Verification) -> ObjectValue:
    """Return the settings, which could be read."""
    assert verification.settings is not None
    return verification.settings


def sources_of(
    verification: Verification, streamlets: Mapping[str, StreamletDescriptor]
) -> dict[str, list[SettingSource]]:
    """Return the sources of all settings."""
    return setting_sources(settings(verification), verification.known, streamlets, verification.sources)


def location(span: Span | None) -> tuple[str, int, int] | None:
    """File, line and column of a span."""
    return (span.file, span.line, span.column) if span is not None else None


def test_later_layers_win(verification: Verification) -> None:
    """Arguments win over files, and files over the blueprint."""
    window = settings(verification).get("streamlets", "average", "parameters", "window")
    assert window is not None
    assert plain(window) == "2 minutes"


def test_every_layer_of_a_setting_is_a_source(verification: Verification) -> None:
    """Each source has its text, its location and its substitution; the default is the first, the effective one last."""
    window = ParameterDescriptor(
        key="window", description="", type=ParameterType.DURATION, default="1 hour", declared=at(3)
    )
    average = replace(streamlet("app.Average"), parameters=(window,))
    default, *layers = sources_of(verification, {"average": average})[WINDOW]
    assert default == SettingSource("1 hour", at(3), "default")
    assert [(layer.text, location(layer.span), location(layer.via)) for layer in layers] == [
        ("5 minutes", ("blueprint.conf", 1, 8), ("blueprint.conf", 3, 67)),
        ("1 minute", ("a.conf", 2, 23), None),
        ("2 minutes", ("<arguments>", 2, 43), None),
    ]


def test_keys_are_sorted_and_secrets_are_masked(verification: Verification) -> None:
    """Every value that is set has its key."""
    by_key = sources_of(verification, {})
    assert list(by_key) == ["flow.retry.max-attempts", "flow.streamlets.average.parameters.password", WINDOW]
    assert [source.text for source in by_key["flow.streamlets.average.parameters.password"]] == ["(secret)"]


def test_settings_are_not_read_from_invalid_files(verification: Verification) -> None:
    """Neither a syntax error nor an unresolved substitution gives settings."""
    for text in ("flow {", "flow.application = ${missing}"):
        Path("a.conf").write_text(text)
        assert verified().settings is None


def test_defaults_of_settings_that_are_not_set() -> None:
    """Below a key, settings with a default; at a key, also a setting without one; nothing for a key that is unknown."""
    (period,) = setting_defaults("flow.retry.stable-period", setting_tree()).values()
    assert [source.text for source in period] == ["60 seconds"]
    assert "flow.retry.min-backoff" in setting_defaults("flow.retry", setting_tree())
    (limit,) = setting_defaults("flow.streamlets.average.inlets.in.max-records", setting_tree()).items()
    assert (limit[0], limit[1][0].text) == ("flow.streamlets.average.inlets.in.max-records", "(not set)")
    assert (
        setting_defaults("flow.retry.stable-periot", setting_tree()) == setting_defaults("flow", setting_tree()) == {}
    )
