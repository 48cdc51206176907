"""`flow config`: the effective settings, and where they were set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.settings.known_settings import every_setting
from streamlets.channels.registry import CHANNEL_TYPES

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
WINDOW = "flow.streamlets.average.parameters.window"


def test_effective_settings_with_defaults(flow: Flow) -> None:
    """Every setting is a line; settings that are not set have their default."""
    result = flow("config", str(EXAMPLES / "sensors"))
    assert result.code == 0
    assert f"{WINDOW} = 10 seconds" in result.out
    assert "flow.streamlets.average.parameters.patience = 2 seconds" in result.out


def test_every_layer_of_a_setting_is_shown_with_its_place(flow: Flow, tmp_path: Path) -> None:
    """Default, blueprint, files in their order, arguments: each with file, line and column; the last wins."""
    for name, value in (("a.conf", "20 seconds"), ("b.conf", "30 seconds")):
        (tmp_path / name).write_text(f"flow.streamlets.average {{\n  parameters.window = {value}\n}}\n")
    files = [str(tmp_path / name) for name in ("a.conf", "b.conf")]
    result = flow(
        "config", str(EXAMPLES / "sensors"), f"{WINDOW}=40s", "--explain", WINDOW,
        "--conf", files[0], "--conf", files[1],
    )  # fmt: skip
    head, *layers = result.out.rstrip().split("\n")
    assert head == f"{WINDOW} = 40s"
    assert [line.split("  ")[2].strip() for line in layers] == [
        "1 minute", "10 seconds", "20 seconds", "30 seconds", "40s",
    ]  # fmt: skip
    assert "gauges/average.py:16:14  default" in layers[0]
    assert f"{files[0]}:2:23" in layers[2]
    assert layers[-1].endswith("effective")


def test_a_substitution_is_shown_with_its_place(flow: Flow) -> None:
    """A value that came through `${...}` has the place of the substitution."""
    result = flow("config", str(EXAMPLES / "flights"), "--explain", "streamlets.archive.parameters.to")
    assert "through the substitution at" in result.out


def test_a_misspelt_key_gets_a_suggestion(flow: Flow) -> None:
    """The nearest key is suggested; the exit code is 2."""
    result = flow("config", str(EXAMPLES / "sensors"), "--explain", "streamlets.average.parameters.widnow")
    assert result.code == 2
    assert WINDOW in result.err


def test_a_syntax_error_is_reported_as_by_verify(flow: Flow) -> None:
    """The findings and the exit code are those of `flow verify`."""
    result = flow("config", str(EXAMPLES / "errors" / "syntax"))
    assert result.code == 1
    assert "error[syntax]" in result.err


def test_a_setting_that_is_not_set_is_shown_with_its_default(flow: Flow) -> None:
    """All settings below a key that have a default are shown; a setting without one is `(not set)`."""
    result = flow("config", str(EXAMPLES / "sensors"), "--explain", "flow.retry")
    assert result.code == 0
    assert "flow.retry.min-backoff = 1 second\n    1 second  default. Wait before the first" in result.out
    result = flow("config", str(EXAMPLES / "sensors"), "--explain", "streamlets.average.inlets.readings.max-records")
    assert (result.code, result.out.split("\n")[0]) == (
        0, "flow.streamlets.average.inlets.readings.max-records = (not set)",
    )  # fmt: skip


def test_every_setting_is_listed(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its description, type and default, also where there is no blueprint."""
    monkeypatch.chdir(tmp_path)
    listed = flow("config", "--list")
    assert listed.code == 0
    assert "flow.isolation\n    Whether streamlets share one Spark" in listed.out
    documents = json.loads(flow("config", "--list", "--format", "json").out)
    settings = every_setting(CHANNEL_TYPES[name].traits for name in CHANNEL_TYPES)
    assert [document["key"] for document in documents] == sorted(f"flow.{setting.path}" for setting in settings)
    isolation = next(document for document in documents if document["key"] == "flow.isolation")
    assert (isolation["choices"], isolation["default"]) == (["none", "process"], "none")
    assert all(document["key"] in listed.out and document["description"] in listed.out for document in documents)


def test_list_takes_no_application(flow: Flow) -> None:
    """It would be ignored, so it is refused."""
    result = flow("config", "--list", "examples/sensors")
    assert (result.code, "it has no other arguments" in result.err) == (2, True)


def test_settings_as_json_have_their_sources(flow: Flow) -> None:
    """The effective value and every place that set it, the same as --explain shows."""
    key = "flow.streamlets.average.parameters.window"
    documents = json.loads(flow("config", str(EXAMPLES / "sensors"), f"{key}=3 s", "--format", "json").out)
    window = next(document for document in documents if document["key"] == key)
    assert (window["value"], [place["value"] for place in window["sources"]][-2:]) == ("3 s", ["10 seconds", "3 s"])
    assert window["sources"][-1]["file"] == "<arguments>"
    explained = json.loads(
        flow("config", str(EXAMPLES / "sensors"), f"{key}=3 s", "--explain", key, "--format", "json").out
    )
    assert explained == [window]
