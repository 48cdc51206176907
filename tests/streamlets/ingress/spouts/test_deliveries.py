"""Transactions that a program delivers: whole or not at all, with their dead letters, and files by each codec."""

from __future__ import annotations

import io
import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import fastavro
import pytest

from streamlets import AvroOutlet, Spout
from streamlets.contract.values import RecordError
from streamlets.ingress.spouts.client import ADDRESS, SpoutClient, SpoutError
from streamlets.ingress.spouts.codecs import LARGEST_RECORD, open_codec, record_of
from streamlets.ingress.spouts.report import read_report, report_file
from streamlets.testkit import Testkit
from streamlets.testkit.spout_under_test import SpoutUnderTest

ROW = "id long not null, name string not null"


def spout(kit: Testkit, schema: str = ROW, **parameters: object) -> SpoutUnderTest:
    """Return a spout with an outlet `out`."""
    return kit.spout(Spout, parameters={"cmd": ["true"], **parameters}, schemas={"out": schema})


class Strict(Spout):
    """A spout without dead letters, and with two outlets."""

    left = AvroOutlet(schema="id long not null")
    right = AvroOutlet(schema="id long not null")


def test_a_transaction_is_one_commit(spouts: Testkit) -> None:
    """Records and files of a transaction appear together, in their order, when the block has ended."""
    feed = spout(spouts)
    with feed.transaction() as transaction:
        transaction.emit({"id": 1, "name": "a"})
        transaction.put("more", '{"id": 2, "name": "b"}\n{"id": 3, "name": "c"}')
        transaction.emit({"id": 4, "name": "d"})
        assert feed.outlet("out").all() == []
    assert transaction.receipt is not None
    assert (transaction.receipt.records, transaction.receipt.dead_letters) == (4, 0)
    assert [batch.num_rows for batch in feed.outlet("out").batches()] == [4]
    assert [row["id"] for row in feed.outlet("out").take()] == [1, 2, 3, 4]


def test_a_block_that_raises_publishes_nothing(spouts: Testkit) -> None:
    """The transaction is aborted, its staged files are deleted, and the next one is not affected."""
    feed = spout(spouts)

    def failing() -> None:
        with feed.transaction() as transaction:
            transaction.put("f", '{"id": 1, "name": "a"}')
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    with feed.transaction() as transaction:
        transaction.emit({"id": 2, "name": "b"})
    assert [row["id"] for row in feed.outlet("out").all()] == [2]
    assert not any((feed._state.staging / feed.plan.ref).iterdir())


def test_a_transaction_that_was_committed_at_the_end_is_counted(
    spouts: Testkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spout may stop before the program gets the answer to its last transaction."""
    feed = spout(spouts)
    committed, stopped = threading.Event(), threading.Event()

    def before(point: str) -> None:
        if point == "before-delivery-answer":
            committed.set()
            stopped.wait(60)

    def deliver(client: SpoutClient) -> None:
        with suppress(SpoutError), client.transaction() as transaction:
            transaction.emit({"id": 1, "name": "a"})

    monkeypatch.setattr("streamlets.ingress.spouts.deliveries.crash_point", before)
    with feed._deliveries() as client:
        program = threading.Thread(target=deliver, args=(client,))
        program.start()
        assert committed.wait(60)
    assert read_report(report_file(feed._state, feed.plan.ref)).transactions == 1
    stopped.set()
    program.join()


def test_broken_records_go_to_the_dead_letters(spouts: Testkit) -> None:
    """Each with its reason and its place; the others of the transaction are committed."""
    feed = spout(spouts)
    with feed.transaction() as transaction:
        transaction.put("orders", '{"id": 1, "name": "a"}\nnot json\n{"id": "x", "name": "b"}\n[1]\n{"id": 5}\n')
    assert transaction.receipt is not None
    assert (transaction.receipt.records, transaction.receipt.dead_letters) == (1, 4)
    letters = feed.dead_letters.all()
    assert [letter["record"] for letter in letters] == ["not json", '{"id": "x", "name": "b"}', "[1]", '{"id": 5}']
    assert {letter["port"] for letter in letters} == {"spout-under-test.out"}
    assert letters[1]["coordinates"] == "spout/orders: line 3"
    assert "`long`" in letters[1]["reason"]


def test_an_outlet_without_dead_letters_refuses_the_transaction(spouts: Testkit) -> None:
    """The reason names the place of the record, and nothing is published."""
    feed = spouts.spout(Strict, parameters={"cmd": ["true"]})
    with pytest.raises(SpoutError, match=r"f: line 2, .*id"), feed.transaction("left") as transaction:
        transaction.put("f", '{"id": 1}\n{"id": null}\n')
    assert feed.outlet("left").all() == []


def test_data_that_cannot_be_stored(spouts: Testkit) -> None:
    """The transaction is refused with the reason of the system, and the next one is not affected."""
    feed = spout(spouts)
    with feed._deliveries() as client:
        (feed._state.staging / feed.plan.ref).rename(feed._state.staging / "elsewhere")
        with (
            pytest.raises(SpoutError, match=r"its data cannot be stored: No such file or directory: .*staging"),
            client.transaction() as transaction,
        ):
            transaction.put("f", '{"id": 1, "name": "a"}')
        (feed._state.staging / "elsewhere").rename(feed._state.staging / feed.plan.ref)
        with client.transaction() as transaction:
            transaction.put("f", '{"id": 2, "name": "b"}')
    assert [row["id"] for row in feed.outlet("out").all()] == [2]


def test_a_transaction_belongs_to_one_outlet(spouts: Testkit) -> None:
    """It is required if there are several, and an unknown one is refused."""
    feed = spouts.spout(Strict, parameters={"cmd": ["true"]})
    unnamed = "has the outlets `left`, `right`, and none was named: name one, such as `flow put left:PATH`"
    for name, message in {"": unnamed, "middle": "has no outlet `middle`; its outlets: `left`, `right`"}.items():
        with pytest.raises(SpoutError, match=message), feed.transaction(name):
            pass
    with feed.transaction("right") as transaction:
        transaction.emit({"id": 7})
    assert (feed.outlet("left").all(), feed.outlet("right").all()) == ([], [{"id": 7}])


def test_the_marker_of_the_last_transaction_of_any_outlet(spouts: Testkit) -> None:
    """It is committed with the data, and a transaction without one keeps it."""
    feed = spouts.spout(Strict, parameters={"cmd": ["true"]})
    assert feed.marker is None
    for outlet, marker in (("left", {"at": 1}), ("right", [2]), ("left", None)):
        with feed.transaction(outlet) as transaction:
            transaction.emit({"id": 1})
            transaction.marker = marker
    assert feed.marker == [2]
    with feed.transaction("left") as transaction:
        transaction.marker = "end"
    assert feed.marker == "end"


def test_overwrite_and_append(spouts: Testkit) -> None:
    """In a transaction, a second file of a path replaces the first one, and an appended part is added to it."""
    feed = spout(spouts, "line string", codec="lines")
    with feed.transaction() as transaction:
        transaction.put("a", "old\n")
        transaction.put("b", "1\n2")
        transaction.put("b", "3\n", append=True)
        transaction.put("a", "new\n")
        transaction.put("", "x\n")
        transaction.put("", "y\n")
    assert [row["line"] for row in feed.outlet("out").take()] == ["1", "23", "new", "x", "y"]
    with feed.transaction() as transaction:
        transaction.put("b", "4\n", append=True)  # only the appended part
    assert [row["line"] for row in feed.outlet("out").take()] == ["4"]


def test_data_may_come_from_files(spouts: Testkit, tmp_path: Path) -> None:
    """A path of this machine, and anything that can be read."""
    feed = spout(spouts, "line string", codec="lines")
    (tmp_path / "data").write_bytes(b"from a path\n")
    with feed.transaction() as transaction:
        transaction.put("a", tmp_path / "data")
        transaction.put("b", io.BytesIO(b"from a stream\n"))
    assert [row["line"] for row in feed.outlet("out").take()] == ["from a path", "from a stream"]


def avro(*records: dict[str, Any]) -> bytes:
    """Return an Avro container file."""
    fields = [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}, {"name": "more", "type": "int"}]
    file = io.BytesIO()
    fastavro.writer(file, {"type": "record", "name": "Other", "fields": fields}, records)
    return file.getvalue()


@pytest.mark.parametrize(
    ("codec", "options", "schema", "data", "rows"),
    [
        ("file", {}, "path string, content binary", b"\xff\x00", [{"path": "p", "content": b"\xff\x00"}]),
        ("file", {"field": "text"}, "text string", b"a\nb", [{"text": "a\nb"}]),
        ("lines", {}, "path string, line string", b"a\r\nb", [{"path": "p", "line": "a"}, {"path": "p", "line": "b"}]),
        ("lines", {"field": "text"}, "text string", b"\n\n", [{"text": ""}, {"text": ""}]),
        ("json-lines", {}, ROW, b'\n{"id":1,"name":"\\u00e4"}\n', [{"id": 1, "name": "\u00e4"}]),
        ("csv", {}, ROW, b'\xef\xbb\xbfname,id\n"a,\nb",1\n\n', [{"id": 1, "name": "a,\nb"}]),
        ("csv", {"header": False, "delimiter": ";"}, ROW, b"1;a\n", [{"id": 1, "name": "a"}]),
        ("csv", {}, ROW, b"id,name\n1," + b"a" * 200_000, [{"id": 1, "name": "a" * 200_000}]),
        ("avro", {}, ROW, avro({"id": 1, "name": "a", "more": 2}), [{"id": 1, "name": "a"}]),
    ],
)  # fmt: skip
def test_codecs(
    spouts: Testkit, codec: str, options: dict[str, object], schema: str, data: bytes, rows: list[dict[str, object]]
) -> None:
    """Each turns a file into the records of the outlet."""
    feed = spout(spouts, schema, **{"codec": codec, "codec-options": options})
    with feed.transaction() as transaction:
        transaction.put("p", data)
    assert feed.outlet("out").take() == rows
    assert feed.dead_letters.take() == []


@pytest.mark.parametrize(
    ("codec", "schema", "data", "reason"),
    [
        ("csv", ROW, b"id,name\n1\n", "has 1 cell, expected 2"),
        ("csv", ROW, b"id,name\nx,a\n", "expected `long`"),
        ("csv", ROW, b"id,name\n1,\xff\n", "is not valid UTF-8"),
        ("lines", "line string", b"\xff\n", "is not valid UTF-8"),
        ("json-lines", ROW, b'{"id": 1, "name": "\xff"}', "is not valid UTF-8"),
        ("json-lines", ROW, b'{"id": 1, "name": "x"', "invalid JSON"),
        ("json-lines", ROW, b'{"id": 1, "name": "\\ud800"}', "`name`: is not valid UTF-8"),
        (
            "json-lines",
            "id long, names array<string>",
            b'{"id": 1, "names": ["\\ud800"]}',
            "`names[0]`: is not valid UTF-8",
        ),
        ("json-lines", "id long, by map<string, long>", b'{"id": 1, "by": {"\\ud800": 1}}', "`by`: is not valid UTF-8"),
        ("json-lines", ROW, b"[" * 100_000, "invalid JSON"),
    ],
)
def test_rows_that_break_the_contract(spouts: Testkit, codec: str, schema: str, data: bytes, reason: str) -> None:
    """Each is a dead letter with the reason."""
    feed = spout(spouts, schema, codec=codec)
    with feed.transaction() as transaction:
        transaction.put("", data)
    (letter,) = feed.dead_letters.take()
    assert reason in letter["reason"]
    json.dumps(letter["record"]).encode()


def test_a_row_with_too_few_cells_is_broken_also_if_extra_fields_are_dropped() -> None:
    """Not a record of nulls."""
    contract = AvroOutlet("out", schema=ROW).contract()
    assert contract is not None
    (row,) = open_codec("csv", {}, contract)("", io.BytesIO(b"id,name\n1\n"))
    with pytest.raises(RecordError, match="has 1 cell, expected 2"):
        record_of(row, contract, extra=True)


@pytest.mark.parametrize(
    ("codec", "schema", "data", "reason"),
    [
        ("avro", ROW, b"not avro", "invalid Avro container file"),
        ("avro", ROW, avro({"id": 1, "name": "a", "more": 2})[:-4], "invalid Avro container file"),
        ("lines", "line string", b"x" * (LARGEST_RECORD + 1), "line 1 is longer than 64 MiB"),
        ("file", "content binary", b"x" * (LARGEST_RECORD + 1), "the file is larger than 64 MiB"),
    ],
)
def test_files_that_cannot_be_decoded(spouts: Testkit, codec: str, schema: str, data: bytes, reason: str) -> None:
    """The whole transaction is refused."""
    feed = spout(spouts, schema, codec=codec)
    with pytest.raises(SpoutError, match=reason), feed.transaction() as transaction:
        transaction.put("", data)
    assert feed.outlet("out").all() == []


def test_only_the_program_may_deliver(spouts: Testkit) -> None:
    """A connection without the token is refused, as is one that sends nonsense; the server goes on."""
    feed = spout(spouts)
    with feed._deliveries() as client:
        stranger = SpoutClient({ADDRESS: client._environment[ADDRESS]})
        with (
            pytest.raises(SpoutError, match="is not the token of this spout, or belongs to an earlier start"),
            stranger.transaction(),
        ):
            pass
        host, _, port = client._environment[ADDRESS].rpartition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert b"refused" in connection.recv(1000)
        with client.transaction() as transaction:
            transaction.emit({"id": 1, "name": "a"})
    assert len(feed.outlet("out").all()) == 1


def test_outside_of_a_spout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says where the functions work."""
    from streamlets import spout as functions

    monkeypatch.delenv(ADDRESS, raising=False)
    with pytest.raises(SpoutError, match="was not started by a spout"):
        functions.emit({"id": 1})
    for address, message in (
        ("127.0.0.1:1", r"does not answer at 127\.0\.0\.1:1: .*paused or stopped"),
        ("127.0.0.1:99999", "does not answer"),
        ("runner", "is `runner`, expected `host:port`"),
    ):
        monkeypatch.setenv(ADDRESS, address)
        with pytest.raises(SpoutError, match=message):
            functions.marker()
