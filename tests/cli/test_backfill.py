"""`flow backfill` and `flow backfills` without Spark: what is refused before anything begins, and the list."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from benchmarks.backfills.cases import BEGIN, write_application
from blueprint.plan import TopicPlan
from streamlets.backfills.model import Backfill, BackfillError, Bound, InletRange, Request, Result
from streamlets.backfills.store import Store
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An application with records, which has no Spark."""
    return write_application(tmp_path_factory.mktemp("prepared") / "shop", random.Random(3))


@pytest.fixture
def shop(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the application."""
    return Path(shutil.copytree(prepared, tmp_path / "shop"))


def store(shop: Path) -> Store:
    """Return the backfills of the application."""
    return Store(StateDirectory(shop / ".flow", "shop"))


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("nothing",), 2, "there is no streamlet `nothing`"),
        (("source",), 2, "has no inlet"),
        (("totals", "--from", "2030-01-01T00:00", "--to", "2030-01-02T00:00"), 2, "in the future"),
        (("totals", "--from", "2026-01-31T03:00", "--to", "2026-01-31T02:00"), 2, "not before its end"),
        (("totals", "--from", "soon"), 2, "neither a time"),
        (("totals", "--from", "abc/1#0"), 2, "has no table `abc`"),
        (("totals", "--from", "abc#0"), 2, "is not a position"),
        (("pairs", "--from", "abc/1#0"), 2, "give a time"),
    ],
)
def test_what_is_wrong(flow: Flow, shop: Path, arguments: tuple[str, ...], code: int, reason: str) -> None:  # noqa: F811
    """The message says what, and nothing is left of the backfill."""
    result = flow("backfill", *arguments, str(shop), "--into", str(shop / "out"))
    assert (result.code, reason in result.err) == (code, True), result.err
    assert store(shop).names() == ()
    assert not (shop / "out").exists()


def test_the_results_need_a_place(flow: Flow, shop: Path) -> None:  # noqa: F811
    """Files and topics that exist are kept."""
    assert "where should the results go" in flow("backfill", "totals", str(shop)).err
    (shop / "out").mkdir()
    (shop / "out" / "totals.parquet").touch()
    exists = flow("backfill", "totals", str(shop), "--into", str(shop / "out"))
    assert (exists.code, "totals.parquet exists" in exists.err) == (2, True)
    for topic in ("events", "totals"):
        taken = flow("backfill", "totals", str(shop), "--into-topic", topic)
        assert (taken.code, f"the topic `{topic}` exists" in taken.err) == (2, True)
    reserved = flow("backfill", "totals", str(shop), "--into-topic", "_x")
    assert (reserved.code, "invalid topic name" in reserved.err) == (2, True)


def test_a_range_of_which_a_part_was_deleted(flow: Flow, shop: Path) -> None:  # noqa: F811
    """The message names what is left, and how to begin with it."""
    topic = DeltaChannel(shop / ".flow" / "shop" / "topics").topic(
        TopicPlan("events", "events", "delta", True, (), (), {})
    )
    topic.purge((), before=BEGIN.timestamp() + 3600)
    left = topic.deleted_since(0.0)
    assert left is not None
    arguments = ("backfill", "totals", str(shop), "--into", str(shop / "out"))
    result = flow(*arguments, "--from", "2026-01-31T00:30")
    assert (result.code, "a part of the range is gone" in result.err) == (1, True)
    assert "`--from 2026-01-31T01:0" in result.err


def test_an_application_that_has_not_run(flow: Flow, shop: Path) -> None:  # noqa: F811
    """There is nothing to read."""
    shutil.rmtree(shop / ".flow")
    result = flow("backfill", "totals", str(shop), "--into", str(shop / "out"))
    assert (result.code, "has not run yet" in result.err) == (2, True)
    assert flow("backfills", str(shop)).code == 2


def test_the_list(flow: Flow, shop: Path) -> None:  # noqa: F811
    """It has the range, the state and the results of each; one whose file is damaged is an error."""
    assert flow("backfills", str(shop)).out == "shop has no backfill\n"
    known = store(shop)
    request = Request(streamlet="totals", begin=Bound("2h", 77.0), into="/tmp/out")
    own = Backfill(
        name="one", request=request, version="v", created=BEGIN.timestamp(),
        ranges={"events": InletRange(start=None, begin="{}", end="{}", records=12)},
        results={"totals": Result(records=3)},
    )  # fmt: skip
    with known.owned("one"):
        known.write(own)
        assert known.read("one") == own
        assert "running (range)" in flow("backfills", str(shop)).out
        with pytest.raises(BackfillError, match="already running"), known.owned("one"):
            pass
    assert "interrupted (range)" in flow("backfills", str(shop)).out
    (data,) = json.loads(flow("backfills", str(shop), "--format", "json").out)["shop"]
    assert (data["state"], data["from"], data["records"]) == ("interrupted", "2h", 12)
    with known.owned("one"):
        known.clear("one")
    assert known.names() == ()
    (known.home("one") / "backfill.json").write_text("{}")
    damaged = flow("backfills", str(shop))
    assert (damaged.code, "backfill.json" in damaged.err) == (1, True)
