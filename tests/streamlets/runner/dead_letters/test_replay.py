"""Dead letters are counted, and replayed once each, whatever is killed meanwhile."""

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
from streamlets.channels.base import TopicLostError, Txn
from streamlets.channels.delta import DeltaTopic
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import JsonValues, RecordError
from streamlets.runner.dead_letters.letters import DeadLetter, holds_dead_letters, letters_in, tallies
from streamlets.runner.dead_letters.replay import Outlets, Replayed, replay
from tests.streamlets.channels.test_crash import run
from tests.streamlets.channels.topics import add, contract, ids_of, made, outlet

FOUND = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def coloured(*symbols: str) -> Contract:
    """Records with an id and one of these colours."""
    enum = {"type": "enum", "name": "Colour", "symbols": list(symbols)}
    return contract(("id", "long"), ("colour", enum), name="Coloured")


def bury(
    root: Path, number: int, ids: Iterable[int], colour: str = "GREEN", port: str = "writer.out", name: str = "dead"
) -> DeltaTopic:
    """One commit of dead letters to a topic: records whose colour their outlet did not know."""
    topic = made(root, name)
    of = dead_letter_contract()
    rows = [
        {
            "record": json.dumps({"id": i, "colour": colour}),
            "port": port,
            "coordinates": f"q/{number}",
            "reason": f"colour: {colour} is no symbol",
            "time": FOUND + datetime.timedelta(seconds=number),
            "version": "1",
        }
        for i in ids
    ]
    topic.append([pa.RecordBatch.from_pylist(rows, schema=arrow_schema(of))], of, Txn("writer", number))
    return topic


def outlets(root: Path, of: Contract) -> Outlets:
    """`writer.out`, joined to the topic `out`."""
    return Outlets({"writer.out": outlet("out", of)}, lambda name: made(root, name), lambda plan: plan.topic)


def waiting(topic: DeltaTopic) -> int:
    """How many letters of a topic have not been replayed."""
    return sum(tally.waiting for tally in tallies(letters_in(topic)))


def every(_: DeadLetter) -> bool:
    """All letters."""
    return True


def test_dead_letters_are_counted_by_port_and_reason(tmp_path: Path) -> None:
    """What waits, what was replayed, and when the first and the last came."""
    bury(tmp_path, 0, range(3))
    topic = bury(tmp_path, 1, [7, 8], "PINK")
    made(tmp_path, "out")
    assert replay(topic, outlets(tmp_path, coloured("PINK")), every).records == {"writer.out": 2}
    first, second = tallies(letters_in(topic))
    assert (first.port, first.reason, first.waiting, first.replayed) == (
        "writer.out",
        "colour: GREEN is no symbol",
        3,
        0,
    )
    assert (second.waiting, second.replayed, second.last) == (0, 2, FOUND + datetime.timedelta(seconds=1))
    assert waiting(topic) == 3


def test_topics_of_dead_letters_are_known_by_their_contract(tmp_path: Path) -> None:
    """Whatever they are called."""
    other = made(tmp_path)
    add(other, 0, [1])
    assert holds_dead_letters(bury(tmp_path, 0, [1]))
    assert not holds_dead_letters(other)


def test_letters_that_keep_the_contract_by_now_are_written_once(tmp_path: Path) -> None:
    """After the schema learnt of the symbol its letters are written, in order; asked again, nothing is; those that
    break it still stay, with today's reason, until it is mended, too."""
    topic = bury(tmp_path, 0, range(5))
    bury(tmp_path, 1, [100], "PINK")
    out = made(tmp_path, "out")
    done = replay(topic, outlets(tmp_path, coloured("RED", "GREEN")), every, at_once=2)
    assert done.records == {"writer.out": 5}
    assert list(done.broken) == [("writer.out", "Coloured, `colour` is 'PINK', not a symbol of `Colour`: RED, GREEN")]
    assert ids_of(out.scan()) == list(range(5))
    assert replay(topic, outlets(tmp_path, coloured("RED", "GREEN")), every).records == {}
    assert replay(topic, outlets(tmp_path, coloured("RED", "GREEN", "PINK")), every).records == {"writer.out": 1}
    assert sorted(ids_of(out.scan())) == [*range(5), 100]
    assert waiting(topic) == 0


def test_replayed_records_lie_where_their_outlet_puts_records(tmp_path: Path) -> None:
    """In the table of its layout, a file for each value, and no table beside it; a decision of the time before layouts
    were kept is carried out as it was made."""
    topic, of = bury(tmp_path, 0, range(4)), coloured("GREEN", "PINK")
    bury(tmp_path, 1, [9], "PINK")
    out = made(tmp_path, "out")
    laid = replace(outlets(tmp_path, of), plans={"writer.out": outlet("out", of, partition_by=("Colour",))})
    assert replay(topic, laid, every).records == {"writer.out": 5}
    (table,) = [log.parent for log in out.path.glob("*/_delta_log")]
    opened = DeltaTable(table)
    assert opened.metadata().partition_columns == ["colour"]
    added = pa.table(opened.get_add_actions(flatten=True)).to_pylist()
    assert sorted((each["partition.colour"], each["num_records"]) for each in added) == [("GREEN", 4), ("PINK", 1)]
    assert sorted(ids_of(out.scan())) == [0, 1, 2, 3, 9]
    kept = next((topic.path / "_replays").glob("*.json"))
    kept.write_text(json.dumps({k: v for k, v in json.loads(kept.read_text()).items() if k != "partition_by"}))
    assert [decision.partition_by for decision in topic.replays.all()] == [()]


def test_a_dry_replay_changes_nothing(tmp_path: Path) -> None:
    """It says what would be written."""
    topic = bury(tmp_path, 0, range(5))
    out = made(tmp_path, "out")
    assert replay(topic, outlets(tmp_path, coloured("GREEN")), every, dry=True).records == {"writer.out": 5}
    assert (ids_of(out.scan()), waiting(topic)) == ([], 5)


def test_only_wanted_letters_of_known_outlets_go(tmp_path: Path) -> None:
    """Others wait; letters of an outlet that is no more are named."""
    topic = bury(tmp_path, 0, range(5))
    bury(tmp_path, 1, [9], port="writer.old")
    made(tmp_path, "out")
    done = replay(topic, outlets(tmp_path, coloured("GREEN")), lambda letter: letter.place.number % 2 == 0)
    assert done == Replayed({"writer.out": 3}, {}, {"writer.old": 1})
    assert [letter.replayed for letter in letters_in(topic)] == [True, False, True, False, True, False]


def test_retention_of_dead_letters_does_not_disturb_the_count(tmp_path: Path) -> None:
    """Letters that went, replayed or not, neither wait nor count."""
    topic = bury(tmp_path, 0, range(5))
    made(tmp_path, "out")
    replay(topic, outlets(tmp_path, coloured("GREEN")), every)
    bury(tmp_path, 1, range(5, 8))
    assert waiting(topic) == 3
    topic.purge([])
    assert (waiting(topic), list(letters_in(topic))) == (0, [])


def test_a_topic_that_is_gone_is_told(tmp_path: Path) -> None:
    """The letters wait on; once the topic is back the decision is carried out."""
    topic = bury(tmp_path, 0, range(5))
    with pytest.raises(TopicLostError, match="out"):
        replay(
            topic,
            Outlets(
                {"writer.out": outlet("out", coloured("GREEN"))}, lambda name: _there(tmp_path, name), lambda p: p.topic
            ),
            every,
        )
    out = made(tmp_path, "out")
    replay(topic, outlets(tmp_path, coloured("GREEN")), every)
    assert ids_of(out.scan()) == list(range(5))


def _there(root: Path, name: str) -> DeltaTopic:
    from streamlets.channels.delta import DeltaChannel
    from tests.streamlets.channels.topics import topic_plan

    return DeltaChannel(root).topic(topic_plan(name, managed=False))


def test_two_who_replay_at_once_write_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes second to a decision carries out the first one's, too, and takes only what is left."""
    from streamlets.channels.delta.replays import Replays

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
    """Killed at each step, and done again: every letter is written once."""
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
    assert JsonValues(of).record(row, of.record, "R")["f"] == value


def test_a_union_with_two_members_set_is_refused() -> None:
    """It is one value or the other."""
    of = contract(("f", ["int", "string"]))
    with pytest.raises(RecordError, match="sets 2 members of its union"):
        JsonValues(of).record({"f": {"member0": 1, "member1": "x"}}, of.record, "R")


def test_extra_columns_are_dropped_only_where_the_outlet_says_so() -> None:
    """As the outlet itself does."""
    of = contract(("id", "long"))
    assert JsonValues(of, True).record({"id": 1, "more": 2}, of.record, "R") == {"id": 1}
    with pytest.raises(RecordError, match="no field `more`"):
        JsonValues(of).record({"id": 1, "more": 2}, of.record, "R")
