"""Dead letters are counted, and replayed exactly once, also after a kill."""

from __future__ import annotations

import datetime
import json
import signal
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.avro.model import Contract
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import JsonValues, RecordError
from streamlets.runner.dead_letters.letters import DeadLetter, holds_dead_letters, letters_in, tallies
from streamlets.runner.dead_letters.replay import Outlets, Replayed, replay
from tests.streamlets.channels.test_crash import run
from tests.streamlets.channels.topics import add, append, contract, ids_of, made, outlet

FOUND = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def coloured(*symbols: str) -> Contract:
    """Return the contract of records with an id and a colour."""
    enum = {"type": "enum", "name": "Colour", "symbols": list(symbols)}
    return contract(("id", "long"), ("colour", enum), name="Coloured")


def bury(
    root: Path, number: int, ids: Iterable[int], colour: str = "GREEN", port: str = "writer.out", name: str = "dead"
) -> DeltaTopic:
    """Commit dead letters to a topic: records with a colour that their outlet did not know."""
    topic = made(root, name)
    of = dead_letter_contract()
    rows = [
        {
            "record": json.dumps({"id": i, "colour": colour}),
            "port": port,
            "coordinates": f"q/{number}",
            "reason": f"colour: {colour} is not a symbol",
            "time": FOUND + datetime.timedelta(seconds=number),
            "version": "1",
        }
        for i in ids
    ]
    append(topic, [pa.RecordBatch.from_pylist(rows, schema=arrow_schema(of))], of, number, writer="writer")
    return topic


def outlets(root: Path, of: Contract) -> Outlets:
    """Return the outlet `writer.out`, joined to the topic `out`."""
    return Outlets({"writer.out": outlet("out", of)}, lambda name: made(root, name), lambda plan: plan.topic)


def waiting(topic: DeltaTopic) -> int:
    """Return the number of letters of a topic that have not been replayed."""
    return sum(tally.waiting for tally in tallies(letters_in(topic)))


def every(_: DeadLetter) -> bool:
    """Select all letters."""
    return True


def test_dead_letters_are_counted_by_port_and_reason(tmp_path: Path) -> None:
    """The waiting and the replayed ones, with the times of the first and the last."""
    bury(tmp_path, 0, range(3))
    topic = bury(tmp_path, 1, [7, 8], "PINK")
    made(tmp_path, "out")
    assert replay(topic, outlets(tmp_path, coloured("PINK")), every).records == {"writer.out": 2}
    first, second = tallies(letters_in(topic))
    assert (first.port, first.reason, first.waiting, first.replayed) == (
        "writer.out",
        "colour: GREEN is not a symbol",
        3,
        0,
    )
    assert (second.waiting, second.replayed, second.last) == (0, 2, FOUND + datetime.timedelta(seconds=1))
    assert waiting(topic) == 3


def test_topics_of_dead_letters_are_recognized_by_their_contract(tmp_path: Path) -> None:
    """Their name does not matter."""
    other = made(tmp_path)
    add(other, 0, [1])
    assert holds_dead_letters(bury(tmp_path, 0, [1]))
    assert not holds_dead_letters(other)


def test_letters_that_fit_the_contract_by_now_are_written_once(tmp_path: Path) -> None:
    """Once the schema has the symbol, its letters are written in order; another replay writes nothing. Letters that
    still break the contract stay and are reported with the current reason."""
    topic = bury(tmp_path, 0, range(5))
    bury(tmp_path, 1, [100], "PINK")
    out = made(tmp_path, "out")
    done = replay(topic, outlets(tmp_path, coloured("RED", "GREEN")), every, at_once=2)
    assert done.records == {"writer.out": 5}
    assert list(done.broken) == [("writer.out", "`colour`: 'PINK' is not a symbol of `Colour` (RED, GREEN)")]
    assert ids_of(out.scan()) == list(range(5))
    assert replay(topic, outlets(tmp_path, coloured("RED", "GREEN")), every).records == {}
    assert replay(topic, outlets(tmp_path, coloured("RED", "GREEN", "PINK")), every).records == {"writer.out": 1}
    assert sorted(ids_of(out.scan())) == [*range(5), 100]
    assert waiting(topic) == 0


def test_replayed_records_have_the_layout_of_their_outlet(tmp_path: Path) -> None:
    """They are in the partitioned table of the outlet, with a file for each value. Decisions of older versions, which
    did not store the layout, are carried out without one."""
    topic, of = bury(tmp_path, 0, range(4)), coloured("GREEN", "PINK")
    bury(tmp_path, 1, [9], "PINK")
    out = made(tmp_path, "out")
    laid = replace(outlets(tmp_path, of), plans={"writer.out": outlet("out", of, partition_by=("Colour",))})
    assert replay(topic, laid, every).records == {"writer.out": 5}
    (table,) = [log.parent for log in out.path.glob("*/_delta_log")]
    opened = DeltaTable(table)
    assert opened.metadata().partition_columns == ["colour"]
    added = pa.table(opened.get_add_actions(flatten=True)).to_pylist()
    assert sorted((file["partition.colour"], file["num_records"]) for file in added) == [("GREEN", 4), ("PINK", 1)]
    assert sorted(ids_of(out.scan())) == [0, 1, 2, 3, 9]
    kept = next((topic.path / "_replays").glob("*.json"))
    kept.write_text(json.dumps({k: v for k, v in json.loads(kept.read_text()).items() if k != "partition_by"}))
    assert [decision.partition_by for decision in topic.replays.all()] == [()]


def test_a_dry_replay_changes_nothing(tmp_path: Path) -> None:
    """It returns what would be written."""
    topic = bury(tmp_path, 0, range(5))
    out = made(tmp_path, "out")
    assert replay(topic, outlets(tmp_path, coloured("GREEN")), every, dry=True).records == {"writer.out": 5}
    assert (ids_of(out.scan()), waiting(topic)) == ([], 5)


def test_only_selected_letters_of_known_outlets_are_replayed(tmp_path: Path) -> None:
    """The others wait; letters of a removed outlet are counted."""
    topic = bury(tmp_path, 0, range(5))
    bury(tmp_path, 1, [9], port="writer.old")
    made(tmp_path, "out")
    done = replay(topic, outlets(tmp_path, coloured("GREEN")), lambda letter: letter.place.number % 2 == 0)
    assert done == Replayed({"writer.out": 3}, {}, {"writer.old": 1})
    assert [letter.replayed for letter in letters_in(topic)] == [True, False, True, False, True, False]


def test_letters_dropped_by_retention_are_not_counted(tmp_path: Path) -> None:
    """Neither as waiting nor as replayed."""
    topic = bury(tmp_path, 0, range(5))
    made(tmp_path, "out")
    replay(topic, outlets(tmp_path, coloured("GREEN")), every)
    bury(tmp_path, 1, range(5, 8))
    assert waiting(topic) == 3
    topic.purge([])
    assert (waiting(topic), list(letters_in(topic))) == (0, [])


def test_a_replay_to_a_missing_topic_fails(tmp_path: Path) -> None:
    """The letters wait; once the topic exists the decision is carried out."""
    topic = bury(tmp_path, 0, range(5))
    with pytest.raises(TopicLostError, match="out"):
        replay(
            topic,
            Outlets(
                {"writer.out": outlet("out", coloured("GREEN"))},
                lambda name: _unmanaged(tmp_path, name),
                lambda plan: plan.topic,
            ),
            every,
        )
    out = made(tmp_path, "out")
    replay(topic, outlets(tmp_path, coloured("GREEN")), every)
    assert ids_of(out.scan()) == list(range(5))


def _unmanaged(root: Path, name: str) -> DeltaTopic:
    from streamlets.channels.delta.channel import DeltaChannel
    from tests.streamlets.channels.topics import topic_plan

    return DeltaChannel(root).topic(topic_plan(name, managed=False))


def test_concurrent_replays_write_each_letter_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one to decide also carries out the decision of the first, and replays only the remaining letters."""
    from streamlets.channels.replays import Replays

    topic = bury(tmp_path, 0, range(5))
    out = made(tmp_path, "out")
    decide = Replays.decide
    raced: list[bool] = []

    def race(self: Replays, decision: object) -> bool:
        if not raced:
            raced.append(True)
            replay(bury(tmp_path, 0, []), outlets(tmp_path, coloured("GREEN")), lambda letter: letter.place.number < 3)
        return decide(self, decision)  # type: ignore[arg-type]

    monkeypatch.setattr(Replays, "decide", race)
    replay(topic, outlets(tmp_path, coloured("GREEN")), every)
    assert sorted(ids_of(out.scan())) == list(range(5))
    assert waiting(topic) == 0


REPLAY = """
import sys
from pathlib import Path
from tests.streamlets.runner.dead_letters.test_replay import coloured, every, made, outlets, replay
root = Path(sys.argv[1])
replay(made(root, "dead"), outlets(root, coloured("GREEN")), every, at_once=3)
"""


@pytest.mark.parametrize(
    "point", ["during-rename", "after-replay-decision:2", "after-append-file", "after-append-commit:2"]
)
def test_a_kill_while_replaying_neither_loses_nor_doubles(tmp_path: Path, point: str) -> None:
    """After a kill at any step, another replay completes it: every letter is written once."""
    topic = bury(tmp_path, 0, range(8))
    out = made(tmp_path, "out")
    assert run(REPLAY, str(tmp_path), at=point).returncode == -signal.SIGKILL
    replay(topic, outlets(tmp_path, coloured("GREEN")), every, at_once=3)
    assert sorted(ids_of(out.scan())) == list(range(8))
    assert waiting(topic) == 0


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("bytes", '"AAE="', b"\x00\x01"),
        ({"type": "fixed", "name": "F", "size": 2}, '"AAE="', b"\x00\x01"),
        ("double", '"NaN"', pytest.approx(float("nan"), nan_ok=True)),
        ("double", "0.1", 0.1),
        ("float", "3", 3.0),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18},
            "12345678901234567890.012345678901234567",
            Decimal("12345678901234567890.012345678901234567"),
        ),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            '"2024-01-01T00:00:00.123456Z"',
            datetime.datetime(2024, 1, 1, 0, 0, 0, 123456, datetime.UTC),
        ),
        (["null", "int", "string"], '{"member0": null, "member1": "x"}', {"member1": "x"}),
        (["null", "int", "string"], "null", None),
        ({"type": "map", "values": "bytes"}, '{"a": "AAE="}', [("a", b"\x00\x01")]),
    ],
)
def test_rows_as_spark_writes_them_are_read_back(kind: object, text: str, value: object) -> None:
    """Base64, NaN, exact decimals, microseconds, members of unions."""
    of = contract(("f", kind))
    row = json.loads(f'{{"f": {text}}}', parse_float=Decimal)
    assert JsonValues(of).record(row, of.record)["f"] == value


def test_a_union_with_two_members_set_is_refused() -> None:
    """A union has exactly one value."""
    of = contract(("f", ["int", "string"]))
    with pytest.raises(RecordError, match="`f`: 2 members of the union are set, expected one"):
        JsonValues(of).record({"f": {"member0": 1, "member1": "x"}}, of.record)


def test_extra_columns_are_dropped_only_if_the_outlet_drops_them() -> None:
    """Otherwise they break the contract, as in a query."""
    of = contract(("id", "long"))
    assert JsonValues(of, True).record({"id": 1, "more": 2}, of.record) == {"id": 1}
    with pytest.raises(RecordError, match="no field `more`"):
        JsonValues(of).record({"id": 1, "more": 2}, of.record)
