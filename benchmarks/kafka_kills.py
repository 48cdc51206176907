"""Kills an application on Kafka or its broker and counts lost and doubled records: `python -m benchmarks.kafka_kills`.

Three streamlets: an ingress from files, a processor, and an egress to a Delta table with keys, which is idempotent. In
each round new numbers are fed, and something is killed while a batch is active: the run at a crash point, the run with
`kill -9`, or the broker, which is then started again. After the last round the application runs to the end. Topics may
have doubled records (at least once) and must not lack any; the table must have each record once. With `--deduplicate`
outlets stage their batches, inlets recognize doubles by headers, and a second egress appends to a table without keys,
which must have each record once, too.

With `--directory` this can be done in several calls: `--rounds 10` executes ten of the remaining rounds, and the call
after which no rounds remain compares.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from benchmarks.kill_ledger import BATCH, NOT_HIT, Ledger, as_text, differences, play_round
from benchmarks.kill_shop import Journal
from blueprint.plan import TopicPlan
from streamlets.channels.kafka.channel import KafkaChannel
from tests.kafka.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS = ("after-batch-begun", "after-topic-commit", "before-spark-commit")
BROKER = "broker"
TABLE, APPENDED = "table", "appended"

_BLUEPRINT = """\
blueprint {
  streamlets {
    numbers = ledger.Numbers
    double  = ledger.Double
    archive { class = streamlets.Sink, inlets.in = "twice bigint not null, n bigint not null"
              parameters { to = delta, options { path = table, keys = n, existing = append } } }
  }
  topics {
    numbers { producers = [numbers.out], consumers = [double.in], topic.partitions = 2 }
    doubled { producers = [double.out], consumers = [archive.in], topic.partitions = 2 }
  }
}
flow.application = ledger
"""

_APPENDED = f"""
blueprint.streamlets.append {{ class = streamlets.Sink, inlets.in = "twice bigint not null, n bigint not null"
                              parameters {{ to = delta, options {{ path = {APPENDED}, existing = append }} }} }}
blueprint.topics.doubled.consumers += append.in
flow.streamlets {{
  numbers.outlets.out.staged = true
  double {{ outlets.out.staged = true, inlets.in.deduplicate.by-headers = true }}
  append.inlets.in {{ deduplicate.by-headers = true, max-records = {BATCH} }}
}}
"""


class KafkaLedger(Ledger):
    """The application, in its own directory, with a broker of its own."""

    topics: ClassVar[tuple[str, ...]] = ("numbers", "doubled")
    queries: ClassVar[dict[str, str]] = {"numbers": "out", "double": "out", "archive": "sink"}
    passages: ClassVar[int] = 4
    tables: ClassVar[tuple[str, ...]] = (TABLE,)
    text: ClassVar[str] = _BLUEPRINT

    def __init__(self, directory: Path, servers: str, files: int = 0) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "blueprint.conf").write_text(self.text, encoding="utf-8")
        options = ("flow.channel=kafka", f'flow.kafka.clusters.default.bootstrap.servers="{servers}"')
        super().__init__(directory, files, options=options)
        self.servers = servers

    @property
    def blueprint(self) -> Path:
        """The blueprint in the directory; the modules are those of the tests."""
        return self.directory

    @property
    def settings(self) -> dict[str, object]:
        """Settings of streamlets."""
        return {
            "numbers.parameters.directory": self.directory / "in",
            "double.inlets.in.max-records": self.batch,
            "archive.inlets.in.max-records": self.batch,
        }

    def records(self) -> dict[str, Counter[str]]:
        """Return how often each record is in each topic and in each table."""
        from deltalake import DeltaTable

        channel = KafkaChannel(self.home / "topics")
        counts: dict[str, Counter[str]] = {}
        for name in self.topics:
            topic = channel.topic(TopicPlan(name, name, "kafka", True, (), (), {"bootstrap.servers": self.servers}))
            counts[name] = Counter(as_text(row) for batch in topic.scan() for row in batch.to_pylist())
        for name in self.tables:
            rows = DeltaTable(self.directory / name).to_pyarrow_table().to_pylist()
            counts[name] = Counter(map(as_text, rows))
        return counts

    def _how_far(self, streamlet: str, batch: int) -> str:
        return "executing"


class DeduplicatingLedger(KafkaLedger):
    """The application with inlets that recognize doubles, and an egress that appends to a table without keys."""

    queries: ClassVar[dict[str, str]] = {**KafkaLedger.queries, "append": "sink"}
    tables: ClassVar[tuple[str, ...]] = (TABLE, APPENDED)
    text: ClassVar[str] = _BLUEPRINT + _APPENDED


def expected(ledger: KafkaLedger) -> dict[str, Counter[str]]:
    """Return the expected records, each once."""
    numbers = range(ledger.files * BATCH)
    return {
        "numbers": Counter(as_text({"n": n}) for n in numbers),
        "doubled": Counter(as_text({"n": n, "twice": 2 * n, "ten": n // 10}) for n in numbers),
        **{name: Counter(as_text({"twice": 2 * n, "n": n}) for n in numbers) for name in ledger.tables},
    }


def play(ledger: KafkaLedger, broker: Broker, point: str, dice: random.Random) -> tuple[bool, str]:
    """Feed, run and kill: at a crash point, or ("") the run in a batch, or the broker in a batch; return whether it was
    hit, and what."""
    if point != BROKER:
        return play_round(ledger, point, dice)
    ledger.feed(2)
    return kill_broker(ledger, broker, dice)


def kill_broker(
    ledger: KafkaLedger,
    broker: Broker,
    dice: random.Random,
    restart: Callable[[Broker], None] = Broker.start,
) -> tuple[bool, str]:
    """Run to the end, and kill the broker while a batch of a streamlet is active.

    Arguments:
        ledger: the application.
        broker: its broker.
        dice: chooses the streamlet and the time.
        restart: starts the broker again.

    Returns:
        Whether a batch was active, and what was killed.

    Raises:
        RuntimeError: the run has failed.
    """
    process = ledger.start()
    wanted = dice.choice([*ledger.queries])
    while process.poll() is None and not (ledger.up(wanted) and ledger.phase(wanted)):
        time.sleep(0.01)
    time.sleep(dice.uniform(0, 0.2))
    phase = ledger.phase(wanted)
    if phase is None:
        ledger.require_success(process.wait())
        return False, f"kill -9 of the broker: {NOT_HIT}"
    broker.kill()
    restart(broker)
    ledger.require_success(process.wait())
    return True, f"kill -9 of the broker, {phase}"


def outcome(ledger: KafkaLedger) -> tuple[bool, dict[str, tuple[int, int]]]:
    """Run to the end; return whether the guarantees hold, and the lost and the doubled records by place."""
    ledger.require_success(ledger.run())
    wrong = differences(ledger.records(), expected(ledger))
    exact = all(wrong[name] == (0, 0) for name in ledger.tables)
    return exact and not any(lost for lost, _ in wrong.values()), wrong


def main() -> None:
    """Run the rounds and print the ledger."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=5, help="how often each crash point is hit")
    parser.add_argument("--kills", type=int, default=40, help="how often the run is killed in a batch")
    parser.add_argument("--brokers", type=int, default=20, help="how often the broker is killed in a batch")
    parser.add_argument("--deduplicate", action="store_true", help="with deduplicating inlets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1_000_000, help="maximum number of rounds in this call")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further round after this time")
    parser.add_argument("--compare", action="store_true", help="compare now, even if rounds remain")
    parser.add_argument("--directory", type=Path, help="directory of the state, to continue an earlier call")
    options = parser.parse_args()
    directory: Path = options.directory or Path(tempfile.mkdtemp(prefix="kafka-kills-"))
    todo = [*POINTS] * options.each + [""] * options.kills + [BROKER] * options.brokers
    random.Random(options.seed).shuffle(todo)
    journal = Journal.at(directory, todo)
    with Broker(directory / "kafka") as broker:
        application = DeduplicatingLedger if options.deduplicate else KafkaLedger
        ledger = application(directory / "ledger", broker.servers, journal.files)
        dice = random.Random(options.seed * 1000 + len(journal.hits))
        _rounds(ledger, broker, journal, dice, options.rounds, options.seconds)
        if journal.todo:
            print(f"{len(journal.todo)} rounds remain")
            if not options.compare:
                return
        holds, wrong = outcome(ledger)
    print(f"{ledger.files * BATCH:,} records fed; hit: {_kinds(journal.hits)}")
    for name, (lost, doubled) in wrong.items():
        print(f"{name:8} {lost} lost, {doubled} doubled")
    if options.directory is None:
        shutil.rmtree(directory)
    raise SystemExit(not holds)


def _rounds(
    ledger: KafkaLedger, broker: Broker, journal: Journal, dice: random.Random, most: int, seconds: float
) -> None:
    begun = time.monotonic()
    for _ in range(most):
        if not journal.todo or time.monotonic() - begun > seconds:
            return
        hit, description = play(ledger, broker, journal.todo[-1], dice)
        if hit:
            journal.todo.pop()
        journal.hits.append(description)
        journal.files = ledger.files
        journal.keep()
        print(f"{len(journal.hits):3} {time.monotonic() - begun:6.0f} s  {description}", flush=True)


def _kinds(hits: Sequence[str]) -> dict[str, int]:
    """Return how often each kind of kill has hit."""
    return dict(sorted(Counter(hit.partition(",")[0] for hit in hits if NOT_HIT not in hit).items()))


if __name__ == "__main__":
    main()
