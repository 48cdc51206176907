"""`flow config`: which settings are in force, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
WINDOW = "flow.streamlets.average.parameters.window"


def test_settings_in_force_with_defaults_beneath(flow: Flow) -> None:
    """Every setting is a line; what nobody set has its default."""
    said = flow("config", str(EXAMPLES / "sensors"))
    assert said.code == 0
    assert f"{WINDOW} = 10 seconds" in said.out
    assert "flow.streamlets.average.parameters.patience = 2 seconds" in said.out


def test_every_layer_of_a_setting_is_told_with_its_place(flow: Flow, tmp_path: Path) -> None:
    """Default, blueprint, files in their order, arguments: each with file, line and column; the last wins."""
    for name, value in (("a.conf", "20 seconds"), ("b.conf", "30 seconds")):
        (tmp_path / name).write_text(f"flow.streamlets.average {{\n  parameters.window = {value}\n}}\n")
    files = [str(tmp_path / name) for name in ("a.conf", "b.conf")]
    said = flow(
        "config", str(EXAMPLES / "sensors"), f"{WINDOW}=40s", "--explain", WINDOW,
        "--conf", files[0], "--conf", files[1],
    )  # fmt: skip
    head, *layers = said.out.rstrip().split("\n")
    assert head == f"{WINDOW} = 40s"
    assert [line.split("  ")[2].strip() for line in layers] == [
        "1 minute", "10 seconds", "20 seconds", "30 seconds", "40s",
    ]  # fmt: skip
    assert "gauges/average.py:16:14  the default" in layers[0]
    assert f"{files[0]}:2:23" in layers[2]
    assert layers[-1].endswith("in force")


def test_a_substitution_on_the_way_is_named(flow: Flow) -> None:
    """A value that came through `${...}` says where that stands."""
    said = flow("config", str(EXAMPLES / "flights"), "--explain", "streamlets.archive.parameters.to")
    assert "through the substitution at" in said.out


def test_a_key_nobody_set_gets_a_suggestion(flow: Flow) -> None:
    """A typo is answered by the key that was meant, exit code 2."""
    said = flow("config", str(EXAMPLES / "sensors"), "--explain", "streamlets.average.parameters.widnow")
    assert said.code == 2
    assert WINDOW in said.err


def test_what_cannot_be_read_is_told_as_verify_tells_it(flow: Flow) -> None:
    """A syntax error gives the findings and verify's exit code."""
    said = flow("config", str(EXAMPLES / "errors" / "syntax"))
    assert said.code == 1
    assert "error[syntax]" in said.err


def test_a_setting_nobody_set_is_told_with_its_default(flow: Flow) -> None:
    """Below a key, every setting that has a default; a setting without one says so; both say what it does."""
    said = flow("config", str(EXAMPLES / "sensors"), "--explain", "flow.retry")
    assert said.code == 0
    assert "flow.retry.min-backoff = 1 second\n    1 second  the default. Wait before the first" in said.out
    said = flow("config", str(EXAMPLES / "sensors"), "--explain", "streamlets.average.inlets.readings.max-records")
    assert (said.code, said.out.split("\n")[0]) == (
        0, "flow.streamlets.average.inlets.readings.max-records = (not set)",
    )  # fmt: skip
