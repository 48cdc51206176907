"""`flow backfill` and `flow backfills` without Spark: what is refused before anything begins, and the list."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.backfills.cases import BEGIN, write_application
from blueprint.plan import TopicPlan
from cli.application import Application
from cli.runs.backfill_slices import slices
from streamlets.backfills.model import Backfill, BackfillError, Bound, InletRange, Request, Result
from streamlets.backfills.store import Store
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.contract.types import arrow_schema
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.streamlets.channels.topics import append
from tests.trees import content


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


def test_an_unknown_streamlet_is_the_first_error(flow: Flow, shop: Path) -> None:  # noqa: F811
    """A topic, a path or a wrong name is not a reason to ask where its results should go."""
    for name in ("nope", "events", "../..", "/abs", ""):
        result = flow("backfill", name, str(shop))
        assert (result.code, f"there is no streamlet `{name}`" in result.err) == (2, True), result.err
        assert "where should" not in result.err


@pytest.mark.parametrize("name", ["", ".", "..", "../..", "a/b", "/abs", "-x", "_x", ".deleted", "a\n", "a b"])
@pytest.mark.parametrize("more", [(), ("--again",), ("--every", "1h", "--from", "2026-01-31"), ("--compare",)])
def test_a_name_is_not_a_path(flow: Flow, shop: Path, name: str, more: tuple[str, ...]) -> None:  # noqa: F811
    """It is refused in one sentence, and no file changes."""
    name = str(shop / "mine") if name == "/abs" else name
    (shop / "mine").mkdir()
    (shop / "mine" / "thesis.txt").write_text("all of it")
    before = content(shop)
    result = flow("backfill", "totals", str(shop), "--into", str(shop / "out"), "--name", name, *more)
    assert (result.code, result.err.count("invalid name of a backfill")) == (2, 1), result.err
    assert content(shop) == before


def test_a_directory_of_others_is_not_a_backfill(flow: Flow, shop: Path) -> None:  # noqa: F811
    """It is refused, and nothing in it changes."""
    mine = store(shop).state.backfills / "mine"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("all of it")
    (mine.parent / "linked").symlink_to(mine)
    before = content(shop)
    for name in ("mine", "linked"):
        result = flow("backfill", "totals", str(shop), "--into", str(shop / "out"), "--name", name)
        assert (result.code, "is not the directory of a backfill" in result.err) == (2, True), result.err
        assert content(shop) == before


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
    for name in ("_x", "", ".", "..", "a/b", "/abs", "a\nb", "a" * 250):
        invalid = flow("backfill", "totals", str(shop), "--into-topic", name)
        assert (invalid.code, "invalid topic name" in invalid.err) == (2, True), invalid.err


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
    assert (result.code, "a part of the range was deleted" in result.err) == (1, True)
    assert "`--from 2026-01-31T01:0" in result.err


def test_an_application_that_has_not_run(flow: Flow, shop: Path) -> None:  # noqa: F811
    """There is nothing to read."""
    shutil.rmtree(shop / ".flow")
    result = flow("backfill", "totals", str(shop), "--into", str(shop / "out"))
    assert (result.code, "has not run yet" in result.err) == (2, True)
    assert flow("backfills", str(shop)).code == 2


def test_a_comparison(flow: Flow, shop: Path) -> None:  # noqa: F811
    """Rows that differ, that are new and that are missing are told apart by keys, in the range only."""
    begin = datetime(2026, 1, 31, tzinfo=UTC)
    rows = [{"begin": begin, "key": key, "total": total, "events": 1} for key, total in (("a", 1), ("b", 2), ("c", 3))]
    plan = Application(shop / "blueprint.conf", (), ()).verify().plan
    assert plan is not None
    contract = plan.streamlet("totals").outlets[0].contract
    now = [BEGIN.timestamp() - 60]
    channel = DeltaChannel(shop / ".flow" / "shop" / "topics", clock=lambda: now[0])
    topic = channel.topic(TopicPlan("totals", "totals", "delta", True, (), (), {}))
    topic.create([contract])
    for number, written in enumerate((rows[:1], rows)):
        batch = pa.Table.from_pylist(written, schema=arrow_schema(contract)).to_batches()
        append(topic, batch, contract, number, writer="totals/totals")
        now[0] += 120
    computed = [rows[0], rows[1] | {"total": 7}, {**rows[0], "key": "d"}]
    (shop / "out").mkdir()
    pq.write_table(pa.Table.from_pylist(computed, schema=arrow_schema(contract)), shop / "out" / "totals.parquet")
    request = Request(streamlet="totals", begin=Bound("2026-01-31", BEGIN.timestamp()), into=str(shop / "out"))
    with store(shop).owned("one"):
        done = Backfill(name="one", request=request, version="v", created=1.0, ranges={}, phase="done")
        store(shop).write(replace(done, results={"totals": Result(records=3)}))
    arguments = ("backfill", "totals", str(shop), "--from", "2026-01-31", "--into", str(shop / "out"), "--name", "one")
    result = flow(*arguments, "--compare", "--by", "begin,key")
    assert result.code == 1, result.err
    assert "totals has 3 records, one has 3; 1 is the same" in result.out, result.out
    assert all(line in result.out for line in ("  1 different", "  1 only in totals", "  1 only in one"))
    data = json.loads(flow(*arguments, "--compare", "--format", "jsonl").out)["differences"]["totals"]
    assert (data["equal"], data["only-left"], data["only-right"]) == (1, 2, 2)
    assert flow(*arguments).code == 0
    nothing = flow("backfill", "pairs", str(shop), "--compare")
    assert (nothing.code, "no topic `pairs` to compare with" in nothing.err) == (1, True)
    for more, reason in (
        (("--compare", "--by", "nothing"), "no result has a column `nothing`"),
        (("--compare", "--by", "key", "--ignore", "key"), "is in `--by` and in `--ignore`"),
        (("--by", "key"), "belong to --compare"),
    ):
        wrong = flow(*arguments, *more)
        assert (wrong.code, reason in wrong.err) == (2, True), wrong.err


@pytest.mark.parametrize(
    ("end", "now", "expected"),
    [(25.0, 99.0, [(0.0, 10.0), (10.0, 20.0), (20.0, 25.0)]), (None, 25.0, [(0.0, 10.0), (10.0, 20.0)]),
     (20.0, 99.0, [(0.0, 10.0), (10.0, 20.0)])],
)  # fmt: skip
def test_slices(end: float | None, now: float, expected: list[tuple[float, float]]) -> None:
    """The last one ends with the range; without an end, only whole slices count."""
    assert [(each.begin, each.end) for each in slices(0.0, end, 10.0, now)] == expected
    with pytest.raises(click.UsageError, match="there is no slice"):
        slices(0.0, 0.0, 10.0, now)


def test_a_range_in_slices(flow: Flow, shop: Path) -> None:  # noqa: F811
    """Those that were done are omitted, one that fails is reported with its log, and the others go on."""
    channel = DeltaChannel(shop / ".flow" / "shop" / "topics")
    channel.topic(TopicPlan("events", "events", "delta", True, (), (), {})).purge((), before=BEGIN.timestamp() + 3600)
    known = store(shop)
    for hour in (1, 2):
        name = f"one.2026-01-31T0{hour}-00-00"
        with known.owned(name):
            known.write(
                Backfill(
                    name=name, request=Request(streamlet="totals"), version="v", created=1.0, ranges={}, phase="done",
                    results={"totals": Result(records=hour)},
                )
            )  # fmt: skip
    arguments = ("backfill", "totals", str(shop), "--into", str(shop / "out"), "--every", "1h", "--name", "one")
    result = flow(*arguments, "--from", "2026-01-31", "--to", "2026-01-31T03:00", "--parallel", "2", "--warm-up", "1m")
    log = known.state.backfills / "one.2026-01-31T00-00-00.log"
    assert result.code == 1
    assert result.out.splitlines() == [
        "2026-01-31T01:00:00: was done, 1 result",
        "2026-01-31T02:00:00: was done, 2 results",
        "2026-01-31T00:00:00: begins",
        f"2026-01-31T00:00:00: failed with code 1, see {log}",
    ]
    assert "a part of the range was deleted" in log.read_text()
    done = flow(*arguments, "--from", "2026-01-31T01:00", "--to", "2026-01-31T03:00", "--format", "jsonl")
    assert (done.code, [json.loads(line)["results"] for line in done.out.splitlines()]) == (0, [1, 2])
    for more in (("--from", "2h"), (), ("--from", "a/1#0")):
        assert flow(*arguments, *more).code == 2


def test_deletion(flow: Flow, shop: Path) -> None:  # noqa: F811
    """A backfill is deleted after a confirmation, unless it runs; its results and other backfills are kept."""
    known = store(shop)
    (shop / "out").mkdir()
    (shop / "out" / "totals.parquet").write_text("results")
    request = Request(streamlet="totals", into=str(shop / "out"))
    for name in ("one", "two"):
        with known.owned(name):
            (known.work(name).topics / "events").mkdir(parents=True)
            known.write(Backfill(name=name, request=request, version="v", created=1.0, ranges={}, phase="done"))
    arguments = ("backfills", "delete", "one", str(shop))
    before = content(shop)
    asked = flow(*arguments)
    assert (asked.code, "add --yes" in asked.err, "are kept" in asked.err) == (2, True, True), asked.err
    with known.owned("one"):
        running = flow(*arguments, "--yes")
    assert (running.code, "already running" in running.err, "--name" in running.err) == (1, True, False)
    for name in ("tow", "..", str(shop / "out"), "", "a/b", "."):
        wrong = flow("backfills", "delete", name, str(shop), "--yes")
        assert (wrong.code, "Traceback" in wrong.err) == (2, False), wrong.err
    assert "did you mean `two`" in flow("backfills", "delete", "tow", str(shop), "--yes").err
    assert content(shop) == before
    done = flow(*arguments, "--yes", "--format", "json")
    assert (done.code, json.loads(done.out)) == (0, {"deleted": "one"})
    assert known.names() == ("two",)
    assert content(shop) == {path: kept for path, kept in before.items() if "/backfills/one" not in path}
    (known.home("two") / "backfill.json").unlink()
    without = flow("backfills", "delete", "two", str(shop), "--yes")
    assert (without.code, "has no `backfill.json`" in without.err) == (2, True), without.err
    (known.home("two") / "backfill.json").write_text("{}")
    damaged = flow("backfills", "delete", "two", str(shop), "--yes")
    assert (damaged.code, "backfill.json" in damaged.err) == (1, True)


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
