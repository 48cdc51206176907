"""What commands say and do after the resources of an application were deleted, or before they are."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Flow
from tests.cli.test_resources import MODULE, Application
from tests.installed import CHANNELS, install

SINKS = """
blueprint {
  streamlets {
    count = counting.Count
    rows { class = streamlets.Sink, parameters { to = jdbc, options { url = "sqlite:rows.db", table = sold } } }
    merged {
      class = streamlets.Sink
      parameters { to = jdbc, options { url = "sqlite:rows.db", table = stock, keys = number } }
    }
    files { class = streamlets.Sink, parameters { to = csv, options { path = out, existing = replace } } }
    lake { class = streamlets.Sink, parameters { to = delta, options { url = "s3://key:hidden@lake/numbers" } } }
  }
  topics.numbers { producers = [count.out], consumers = [rows.in, merged.in, files.in, lake.in] }
}
flow.application = shop
"""


REPLAYED: list[Any] = [None]
"""What the dead letter of the application has in the field `number`."""


@pytest.fixture
def application(tmp_path: Path, flow: Flow) -> Application:
    return Application(tmp_path, flow)


def allow_null(application: Application) -> None:
    """Let a later version accept the dead letters."""
    (application.directory / "counting.py").write_text(MODULE.replace("number long not null", "number long"))
    sys.modules.pop("counting", None)


def replayed(application: Application, *arguments: str) -> tuple[int, str]:
    """Replay the dead letters of the application, and return the exit code and what was printed."""
    result = application.flow("dead-letters", "replay", "count", str(application.directory), *arguments)
    return result.code, result.out + result.err


def test_dead_letters_are_replayed_into_the_topic_that_was_deleted(application: Application) -> None:
    """The replay creates it, and the next run continues with it; a dry one creates nothing."""
    assert application.run("standard", end="refuse").code == 0
    assert application.numbers() is None
    allow_null(application)
    assert replayed(application, "--dry-run") == (0, "count.out: would replay 1 record\n")
    assert application.numbers() is None
    assert replayed(application) == (0, "count.out: replayed 1 record\n")
    assert application.numbers() == REPLAYED
    assert replayed(application) == (0, "count: nothing to replay\n")
    again = application.run("keep")
    assert again.code == 0, again.err
    assert application.numbers() == [*REPLAYED, 0, 1, 2]


def test_a_topic_that_somebody_else_deleted_is_not_created_by_a_replay(application: Application) -> None:
    """Its readers could not continue; the error says what to do."""
    assert application.run("keep", end="refuse").code == 0
    shutil.rmtree(application.state.topics / "numbers")
    allow_null(application)
    for _ in range(2):
        code, printed = replayed(application)
        assert (code, "numbers" in printed) == (1, True)
        assert application.numbers() is None
        application.state.descriptor_file.write_text("{")  # then it is not known whether the run had the topic


def test_a_replay_waits_for_a_deletion_to_be_completed(application: Application) -> None:
    """The records would be deleted with the topic, and the letters with theirs."""
    assert application.run("keep", end="refuse").code == 0
    application.state.deletion_file.write_text(json.dumps({"application": "shop"}))
    allow_null(application)
    code, printed = replayed(application)
    assert (code, "flow run --resources delete-only" in printed) == (1, True)
    assert application.numbers() == [0, 1, 2]
    assert application.run("delete-only", "--yes").code == 0
    assert replayed(application)[0] == 0
    assert application.numbers() == REPLAYED


def test_fresh_names_the_dead_letters_that_it_deletes(application: Application) -> None:
    """Before it asks, and also if it does not ask; not if there are none."""
    note = "note: --fresh deletes 1 dead letter that waits"
    assert application.run("keep", end="refuse").code == 0
    asked = application.run("keep", "--fresh")
    assert (asked.code, note in asked.err) == (2, True)
    assert note in application.run("keep", "--fresh", "--yes").err
    assert "note" not in application.run("keep", "--fresh", "--yes").err


def test_the_ports_of_the_last_run_are_known_after_a_deletion(application: Application) -> None:
    """With their records, whether dead letters are kept or nothing is; not after the file was deleted."""
    for end in ("refuse", "complete"):
        assert application.run("standard", "--fresh", "--yes", end=end).code == 0
        shown = application.flow("status", str(application.directory), "--ports")
        assert "count.out" in shown.out
        data = json.loads(application.flow("status", str(application.directory), "--ports", "--format", "json").out)
        ports = {f"{port['streamlet']}.{port['port']}": port["records"] for port in data["shop"]["ports"]}
        assert ports == {"count.out": 3, "tell.out": 3 if end == "refuse" else 0}
    application.state.last_run_file.unlink()
    unknown = application.flow("status", str(application.directory), "--ports").out
    assert "the ports are not known any more: the resources of the last run were deleted" in unknown


def test_topics_on_a_channel_of_other_settings_are_listed(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are kept, with the reason and the remedy, also if the package of the channel is not installed any more."""
    with monkeypatch.context() as installed:
        install(CHANNELS / "sqlite", application.directory / "installed", installed)
        assert application.run("keep", "flow.topics.numbers.channel=sqlite").code == 0
        nothing = application.run("delete-only").out
        assert "numbers: kept: it is on the channel `sqlite`" in nothing
        assert "delete it with the settings that it was written with; `flow run --fresh` deletes it" in nothing
    assert "topic numbers: kept: no installed package has its channel `sqlite`" in application.run("delete-only").out


def test_delete_only_lists_what_sinks_have_written(application: Application) -> None:
    """Tables, too, whether it asks or not, and without passwords."""
    application.blueprint.write_text(SINKS)
    assert application.run("create-only").code == 0
    asked = application.run("delete-only").err
    deleted = application.run("delete-only", "--yes").out
    for table in ("table sold", "table stock", "lake/numbers", f"directory {application.directory / 'out'}"):
        assert table in asked
        assert table in deleted
    assert "hidden" not in asked + deleted


def test_a_run_that_deletes_checkpoints_names_the_sinks_that_will_refuse(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so before it starts: not about sinks that replace rows or have the option, and not in other modes."""
    application.blueprint.write_text(SINKS)
    monkeypatch.setattr("cli.commands.run._run", lambda *arguments: sys.exit(0))
    note = "the next run of `lake` and `rows` then refuses to append all records again"
    assert note in application.run("standard").err
    assert note not in application.run("keep").err
