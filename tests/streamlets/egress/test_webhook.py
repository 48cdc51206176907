"""The sink `webhook`: every record reaches the server, in the same requests after a failure at any point."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from blueprint.settings.options import typed_options
from blueprint.settings.secret_texts import is_secret
from blueprint.settings.secrets import without_secrets
from streamlets import Sink
from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.errors import SinkError
from streamlets.egress.webhook import batches as module
from streamlets.egress.webhook.batches import WebhookBatches
from streamlets.egress.webhook.server import Server
from streamlets.storage.damage import DamagedFileError
from tests.streamlets.egress.receiver import OK, Answer, Receiver, receiving


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Return a server."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with receiving() as receiver:
        yield receiver


class Bench:
    """Batches whose records are decided.

    Arguments:
        receiver: the server.
        root: a directory.
    """

    def __init__(self, receiver: Receiver, root: Path) -> None:
        self.receiver = receiver
        self.root = root
        self.waited: list[float] = []

    def batches(self, **options: Any) -> WebhookBatches:
        """Return the writer of a query."""
        given = {"url": self.receiver.url, **{name.replace("_", "-"): value for name, value in options.items()}}
        typed = typed_options(SINKS["webhook"].traits, given, self.root)
        query = SinkQuery(
            name="alarms", streamlet="alarms", query="sink", options=typed, application=str(self.root / "state")
        )
        writer = WebhookBatches(query)
        own = writer.server
        writer.server = Server(own.url, own.headers, own.timeout, own.attempts, self.waited.append, lambda: 0.0)
        return writer

    def decide(self, *ids: int, batch: int = 0) -> None:
        """Store the records of a batch, as Spark does."""
        directory = self.root / "state" / "staging" / "alarms" / "q" / str(batch) / "records"
        directory.mkdir(parents=True)
        for part, some in enumerate((ids[:2], ids[2:])):
            lines = "".join(json.dumps({"id": id, "text": "ä\u2028\n"}, ensure_ascii=False) + "\n" for id in some)
            (directory / f"part-0000{part}-x.txt").write_text(lines, encoding="utf-8")
        sizes = {file.name: file.stat().st_size for file in directory.iterdir()}
        (directory.parent / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")


@pytest.fixture
def bench(receiver: Receiver, tmp_path: Path) -> Bench:
    """Return a bench."""
    return Bench(receiver, tmp_path)


def test_a_batch_becomes_requests_of_limited_size(bench: Bench) -> None:
    """A request has an array of records, and a key that depends only on query, batch and records."""
    bench.decide(*range(5))
    assert bench.batches(max_records=2).deliver("q", 0) == 5
    assert [key for key, _ in bench.receiver.requests] == ["q-0-0-2", "q-0-2-4", "q-0-4-5"]
    assert bench.receiver.ids == [0, 1, 2, 3, 4]
    assert bench.receiver.requests[0][1][0] == {"id": 0, "text": "ä\u2028\n"}
    assert bench.receiver.headers[0]["Content-Type"] == "application/json"


def test_requests_have_a_maximum_size(bench: Bench) -> None:
    """A record that is larger than the limit is sent alone."""
    bench.decide(*range(4))
    bench.batches(max_bytes="70 bytes").deliver("q", 0)
    assert [len(records) for _, records in bench.receiver.requests] == [2, 2]
    bench.decide(7, 8, batch=1)
    bench.batches(max_bytes="1 bytes").deliver("q", 1)
    assert [len(records) for _, records in bench.receiver.requests[2:]] == [1, 1]


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503])
def test_a_request_is_sent_again(bench: Bench, status: int) -> None:
    """The delays double; the key is the same."""
    bench.receiver.answer = lambda number, records: OK if number == 3 else (status, {}, "")
    bench.decide(1)
    bench.batches().deliver("q", 0)
    assert bench.waited == [1.0, 2.0, 4.0]
    assert {key for key, _ in bench.receiver.requests} == {"q-0-0-1"}


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0), ("soon", 1.0), ("-1", 1.0)]
)
def test_the_server_decides_when(bench: Bench, header: str, seconds: float) -> None:
    """`Retry-After` has seconds or a date; anything else is ignored."""
    bench.receiver.answer = lambda number, records: OK if number else (429, {"Retry-After": header}, "")
    bench.decide(1)
    bench.batches().deliver("q", 0)
    assert bench.waited == [seconds]


@pytest.mark.parametrize(
    ("answer", "problem", "requests"),
    [
        ((401, {}, "who are you, Bearer s3cret?"), r"answered 401: who are you, \(secret\)\?", 1),
        ((404, {}, ""), "answered 404", 1),
        ((302, {"Location": "http://127.0.0.1:1/"}, ""), "answered 302: a redirect, which is not followed", 1),
        ((503, {}, "busy"), r"answered 503: busy \(attempt 2 of 2\)", 2),
        ((429, {"Retry-After": "3600"}, ""), "it asks to wait for 1 h", 1),
    ],
)
def test_the_query_fails(bench: Bench, answer: Answer, problem: str, requests: int) -> None:
    """Such records do not become dead letters: nothing is wrong with them. The next attempt begins with them."""
    bench.receiver.answer = lambda number, records: answer if records[0]["id"] == 1 else OK
    bench.decide(0, 1, 2)
    options = {"max_records": 1, "attempts": 2, "dead_letters": "dead", "headers": {"Authorization": "Bearer s3cret"}}
    with pytest.raises(SinkError, match=problem) as caught:
        bench.batches(**options).deliver("q", 0)
    assert "s3cret" not in str(caught.value) and bench.receiver.headers[0]["Authorization"] == "Bearer s3cret"
    assert len(bench.receiver.requests) == 1 + requests and not (bench.root / "dead").exists()
    bench.receiver.answer = lambda number, records: OK
    bench.batches(**options).deliver("q", 0)
    assert bench.receiver.ids == [0, 1, 2]
    assert len([key for key, _ in bench.receiver.requests if key == "q-0-0-1"]) == 1


def test_a_server_that_is_not_there(bench: Bench) -> None:
    """The message has neither the query of the URL nor the headers."""
    bench.decide(1)
    bench.receiver.url = "http://127.0.0.1:1/hook?key=s3cret"
    with pytest.raises(SinkError, match=r"alarms: `http://127.0.0.1:1/hook` cannot be reached: .*refused") as caught:
        bench.batches(headers={"X-Key": "hidden"}).deliver("q", 0)
    assert "s3cret" not in str(caught.value) and "hidden" not in repr(bench.batches(headers={"X-Key": "hidden"}).server)
    assert len(bench.waited) == 4


@pytest.mark.parametrize("status", [400, 413, 422])
def test_refused_records_become_dead_letters(bench: Bench, status: int) -> None:
    """Halves of a refused request are sent until the refused records are known; the others are delivered."""

    def answer(number: int, records: list[Any]) -> Answer:
        return (status, {}, "bad id") if any(record["id"] in (2, 5) for record in records) else OK

    bench.receiver.answer = answer
    bench.decide(*range(7))
    assert bench.batches(dead_letters="dead").deliver("q", 0) == 7
    assert bench.receiver.ids == [0, 1, 3, 4, 6]
    (file,) = (bench.root / "dead").iterdir()
    letters = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    assert [(letter["status"], letter["answer"], letter["record"]["id"]) for letter in letters] == [
        (status, "bad id", 2),
        (status, "bad id", 5),
    ]


def test_without_dead_letters_a_refused_record_fails_the_query(bench: Bench) -> None:
    """No record is dropped silently."""
    bench.receiver.answer = lambda number, records: (422, {}, "bad")
    bench.decide(1)
    with pytest.raises(SinkError, match=r"refused a record \(422 bad\); set `options.dead-letters`"):
        bench.batches().deliver("q", 0)


class PowerCutError(Exception):
    """Simulates the end of the process."""


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_power_cut_between_requests(bench: Bench, nth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one request is repeated, with its key; a server that knows keys has each record once."""
    passed: list[str] = []

    def cut(name: str, *owner: str) -> None:
        passed.append(name)
        if len(passed) == nth:
            raise PowerCutError(name)

    bench.decide(*range(5))
    with monkeypatch.context() as patch:
        patch.setattr(module, "crash_point", cut)
        with pytest.raises(PowerCutError):
            bench.batches(max_records=2).deliver("q", 0)
    bench.batches(max_records=2).deliver("q", 0)
    assert len(bench.receiver.requests) == 4
    assert bench.receiver.ids == [0, 1, 2, 3, 4]
    bench.batches(max_records=2).deliver("q", 0)
    assert len(bench.receiver.requests) == 4


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "from elsewhere": lambda data: b'{"application": "another"}',
}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["records/part-00000-x.txt", "records/part-00001-x.txt", "sizes.json", "sent"])
def test_a_damaged_file_of_an_interrupted_batch_is_reported(bench: Bench, name: str, how: str) -> None:
    """Nothing is sent; only without the number of taken records are the records sent again."""
    bench.decide(*range(5))
    bench.receiver.answer = lambda number, records: OK if number == 0 else (404, {}, "")
    with pytest.raises(SinkError):
        bench.batches(max_records=2).deliver("q", 0)
    bench.receiver.answer = lambda number, records: OK
    bench.receiver.requests.clear()
    file = bench.root / "state" / "staging" / "alarms" / "q" / "0" / name
    if (data := DAMAGES[how](file.read_bytes())) is None:
        file.unlink()
    else:
        file.write_bytes(data)
    if (name, how) == ("sent", "missing"):
        assert bench.batches(max_records=2).deliver("q", 0) == 5
        assert bench.receiver.ids == [0, 1, 2, 3, 4]
    else:
        with pytest.raises(DamagedFileError, match=file.name):
            bench.batches(max_records=2).deliver("q", 0)
        assert not bench.receiver.requests


def test_a_task_that_was_abandoned_writes_later(bench: Bench) -> None:
    """Its file does not belong to the batch."""
    bench.decide(*range(3))
    late = bench.root / "state" / "staging" / "alarms" / "q" / "0" / "records" / "part-00000-late.txt"
    late.write_text('{"id": 0}\n', encoding="utf-8")
    assert bench.batches().deliver("q", 0) == 3
    assert bench.receiver.ids == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "ftp://host/x"}, "`url` must be a URL of HTTP with a host"),
        ({"url": "http:///x"}, "`url` must be a URL of HTTP with a host"),
        ({"url": "http://host:x/"}, "`url` must be a URL of HTTP with a host"),
        ({"url": "http://me:pw@host/"}, "`url` must not have a user or a password"),
        ({"url": "http://host", "headers": {"A B": "x"}}, "invalid name of a header: `A B`"),
        ({"url": "http://host", "headers": {"A": "x\ny"}}, "the header `A` must be ASCII without control characters"),
        ({"url": "http://host", "headers": {"idempotency-key": "1"}}, "the sink sets the header `idempotency-key`"),
        ({"url": "http://host", "max-records": 0}, "`0` is less than 1"),
        ({"url": "http://host", "header": {"A": "x"}}, "has no option `header`"),
    ],
)
def test_mistakes_are_reported_by_verification(options: dict[str, Any], problem: str) -> None:
    """Before the server is asked."""
    (reported,) = Sink().check_parameters({"to": "webhook", "partition-by": "", "options": options})
    assert problem in reported.message and "pw" not in reported.message


def test_headers_are_secrets() -> None:
    """Their values are masked wherever settings are shown, whatever the name of the header is."""
    assert is_secret("headers.X-Anything") and is_secret("parameters.options.headers")
    shown = without_secrets("options", {"url": "http://host", "headers": {"X-Anything": "abc"}})
    assert shown == {"url": "http://host", "headers": "(secret)"}


@pytest.mark.spark
def test_a_query_sends_each_batch(spark: SparkSession, receiver: Receiver, tmp_path: Path) -> None:
    """After a failure between two requests, the next attempt sends the rest of what Spark had read."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "first.csv").write_text("".join(f"{n}\n" for n in range(10)))
    sent = Bench(receiver, tmp_path)
    session = spark.newSession()

    def run() -> None:
        rows = session.readStream.name("n").csv(str(tmp_path / "in"), schema="id int").withColumn("none", _null())
        writer = rows.writeStream.foreachBatch(sent.batches(max_records=4, attempts=1))
        checkpoint = str(tmp_path / "checkpoint")
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination(120)

    receiver.answer = lambda number, records: OK if number == 0 else (500, {}, "")
    with pytest.raises(StreamingQueryException, match="answered 500"):
        run()
    receiver.answer = lambda number, records: OK
    run()
    assert receiver.ids == list(range(10)) and len(receiver.requests) == 4
    assert receiver.requests[0][1][0].keys() == {"id", "none"}
    (tmp_path / "in" / "second.csv").write_text("10\n")
    run()
    assert receiver.ids == list(range(11))
    (stored,) = (tmp_path / "state" / "staging" / "alarms").glob("*/[0-9]*")
    assert sorted(path.name for path in stored.iterdir()) == ["sent", "sizes.json"]


def _null() -> Any:
    from pyspark.sql import functions as F

    return F.lit(None).cast("string")
