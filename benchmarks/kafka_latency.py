"""The time from producing a record to consuming its answer, through one streamlet between two Kafka topics.

    python -m benchmarks.kafka_latency [--seconds N] [--rate N] [--only NAME]

Measured one after the other in one run, on one broker: the streamlet with a real-time trigger, the same streamlet in
micro-batches without a pause, both by `flow run`, and a real-time query of bare Spark that does the same without
contracts. The bar for the first is a median of at most 5 ms and a 99th percentile of at most 20 ms, at 100 records a
second.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import fastavro
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.kafka_throughput import settings
from benchmarks.processes import killed_at_end
from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.kafka.schemas import SCHEMAS
from streamlets.contract.wire.avro_formats import fingerprint_header, schema_fingerprint
from streamlets.testkit.session import start_session
from tests.kafka.broker import Broker

APPLICATION = Path(__file__).resolve().parent / "hop"
SERVERS = "flow.kafka.clusters.default.bootstrap.servers"
REQUEST = parse_contract(
    '{"type": "record", "name": "Request", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "number", "type": ["null", "long"], "default": null}]}'
)
ANSWER = (
    '{"type": "record", "name": "Answer", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "twice", "type": "long"}]}'
)
MEDIAN, PERCENTILE = 5.0, 20.0
_WARM_UP = 15.0
_PATIENCE = 300.0


@dataclass
class Traffic:
    """Requests in a topic, and the answers to them in another one.

    Arguments:
        servers: the servers of the broker.
        requests: the topic of the requests, which is created.
        answers: the topic of the answers; it need not exist before `answered` is called.
    """

    servers: str
    requests: str
    answers: str
    sent: dict[int, float] = field(default_factory=dict)
    received: dict[int, float] = field(default_factory=dict)
    doubled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers})
        for future in admin.create_topics([NewTopic(self.requests, 1, 1), NewTopic(self.answers, 1, 1)]).values():
            future.result()
        self._producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0, "acks": 1})
        self._publish(REQUEST)

    def send(self, number: int | None = 1) -> int:
        """Send a request; return its id."""
        id = len(self.sent)
        self.sent[id] = time.perf_counter()
        self.send_bytes(encoded(REQUEST, {"id": id, "number": number}))
        return id

    def send_bytes(self, value: bytes) -> None:
        """Send a message with these bytes."""
        self._producer.produce(self.requests, value)
        self._producer.poll(0)

    @contextlib.contextmanager
    def answered(self) -> Iterator[None]:
        """Note when answers arrive, during the block."""
        ended = threading.Event()
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 5,
                "fetch.queue.backoff.ms": 1,
            }
        )
        consumer.subscribe([self.answers])

        def receive() -> None:
            while not ended.is_set():
                message = consumer.poll(0.1)
                value = message.value() if message is not None and message.error() is None else None
                if value is not None:
                    id = int(fastavro.schemaless_reader(io.BytesIO(value[10:]), "long", None))
                    if id in self.received:
                        self.doubled.append(id)
                    self.received.setdefault(id, time.perf_counter())

        thread = threading.Thread(target=receive)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            consumer.close()
            self._producer.flush()

    def wait_for(self, condition: Callable[[], bool], what: str, *, send: bool = False) -> None:
        """Wait for a condition; with `send`, a request is sent five times a second."""
        end = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not happen within {_PATIENCE:.0f} s")
            if send:
                self.send()
            time.sleep(0.2)

    def _publish(self, contract: Contract) -> None:
        """Publish the schema of the requests, as a writer with Streamlets does."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        topic = NewTopic(SCHEMAS, 1, 1, config={"cleanup.policy": "compact"})
        with contextlib.suppress(Exception):  # it exists
            admin.create_topics([topic])[SCHEMAS].result()
        key = f"{self.requests}/{schema_fingerprint(contract)}"
        self._producer.produce(SCHEMAS, contract.json, key=key)
        self._producer.flush()


def encoded(contract: Contract, record: dict[str, object]) -> bytes:
    """Return a record as Avro's single-object encoding."""
    out = io.BytesIO(fingerprint_header(schema_fingerprint(contract)))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(contract.json)), record)
    return out.getvalue()


@contextlib.contextmanager
def running(traffic: Traffic, state: Path, trigger: str, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the streamlet with a trigger; the output of the run is the file `run.out` in the state directory."""
    state.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "streamlets", "run", str(APPLICATION), "--format", "json", "--state-dir", str(state),
        f"flow.streamlets.hop.trigger={trigger}", f'{SERVERS}="{traffic.servers}"',
        f'flow.topics.requests.topic.name="{traffic.requests}"', f'flow.topics.answers.topic.name="{traffic.answers}"',
        *more,
    ]  # fmt: skip
    with (state / "run.out").open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=APPLICATION)
    with killed_at_end(process):
        yield process


def measure(traffic: Traffic, seconds: float, rate: float) -> list[float]:
    """Send requests at a steady rate; return the milliseconds until each answer, sorted."""
    traffic.wait_for(lambda: bool(traffic.received), "an answer", send=True)
    _send(traffic, _WARM_UP, rate)
    first = len(traffic.sent)
    _send(traffic, seconds, rate)
    last = len(traffic.sent)
    traffic.wait_for(lambda: all(id in traffic.received for id in range(first, last)), "an answer to every request")
    return sorted((traffic.received[id] - traffic.sent[id]) * 1000 for id in range(first, last))


def _send(traffic: Traffic, seconds: float, rate: float) -> None:
    start = time.perf_counter()
    for number in range(int(seconds * rate)):
        time.sleep(max(0.0, start + number / rate - time.perf_counter()))
        traffic.send()


def _streamlet(servers: str, root: Path, trigger: str) -> Callable[[float, float], list[float]]:
    def run(seconds: float, rate: float) -> list[float]:
        traffic = _traffic(servers)
        with running(traffic, root / traffic.answers, trigger) as process, traffic.answered():
            try:
                return measure(traffic, seconds, rate)
            except TimeoutError:
                print((root / traffic.answers / "run.out").read_text()[-3000:], file=sys.stderr)
                raise
            finally:
                begin = time.perf_counter()
                process.terminate()
                process.wait()
                print(f"the run ended {time.perf_counter() - begin:.1f} s after SIGTERM", file=sys.stderr)

    return run


def _bare(servers: str, root: Path) -> Callable[[float, float], list[float]]:
    def run(seconds: float, rate: float) -> list[float]:
        from pyspark.sql import functions as F
        from pyspark.sql.avro.functions import from_avro, to_avro

        traffic = _traffic(servers)
        session = start_session(directory=root / "bare", settings=settings())
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
        messages = reader.option("subscribe", traffic.requests).option("startingOffsets", "earliest").name("in").load()
        record = from_avro(F.expr("substring(value, 11)"), REQUEST.json)
        rows = messages.select(record.alias("record")).selectExpr("record.id", "record.number * 2 as twice")
        value = F.concat(F.lit(bytes(10)), to_avro(F.struct("id", "twice"), ANSWER))
        writer = rows.select(value.alias("value")).writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", servers).option("topic", traffic.answers)
        writer = writer.option("checkpointLocation", str(root / "bare-checkpoint"))
        query = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
        try:
            with traffic.answered():
                return measure(traffic, seconds, rate)
        finally:
            query.stop()
            session.stop()

    return run


def _traffic(servers: str) -> Traffic:
    name = uuid.uuid4().hex
    return Traffic(servers, f"requests-{name}", f"answers-{name}")


def main() -> None:
    """Measure each, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--rate", type=float, default=100)
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-latency-") as directory:
        root = Path(directory)
        with Broker(root / "broker") as broker:
            ways = {
                "real-time streamlet": _streamlet(broker.servers, root, "{real-time = 5 minutes}"),
                "bare Spark, real-time": _bare(broker.servers, root),
                "micro-batch streamlet": _streamlet(broker.servers, root, "{processing-time = 0 seconds}"),
            }
            print(f"{options.rate:g} records a second, {options.seconds:g} s each, milliseconds")
            for name, run in ways.items():
                if options.only in name:
                    times = run(options.seconds, options.rate)
                    parts = [f"{part} {times[int(len(times) * part) // 100]:8.1f}" for part in (90, 99)]
                    middle = statistics.median(times)
                    print(f"{name:22}  median {middle:8.1f}  {'  '.join(parts)}  most {times[-1]:8.1f}", flush=True)
    print("load average", *(f"{load:.1f}" for load in os.getloadavg()))
    print(f"bars of the real-time streamlet: median {MEDIAN:g} ms, 99th percentile {PERCENTILE:g} ms")


if __name__ == "__main__":
    main()
