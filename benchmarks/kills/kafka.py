"""An application on Kafka with a broker of its own: the run or the broker is killed.

Three streamlets: an ingress from files, a processor, and an egress to a Delta table with keys, which is idempotent.
Topics may have doubled records (at least once) and must not lack any; the table must have each record once. In
`Deduplicated` outlets stage their batches, inlets recognize doubles by headers, and a second egress appends to a table
without keys, which must have each record once, too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from benchmarks.kills.harness import Target
from benchmarks.kills.ledger import BATCH, NOT_HIT, Ledger, as_text, compared, play_round
from blueprint.plan import TopicPlan
from streamlets.channels.kafka.channel import KafkaChannel
from tests.kafka.broker import Broker

if TYPE_CHECKING:
    import random

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

    def __init__(self, directory: Path, servers: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "blueprint.conf").write_text(self.text, encoding="utf-8")
        options = ("flow.channel=kafka", f'flow.kafka.clusters.default.bootstrap.servers="{servers}"')
        super().__init__(directory, options=options)
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


class Kafka(Target):
    """The application and its broker."""

    points: ClassVar[tuple[str, ...]] = POINTS
    kills = 40
    application: ClassVar[type[KafkaLedger]] = KafkaLedger

    def __init__(self, directory: Path, dice: random.Random) -> None:
        super().__init__(directory, dice)
        self.broker = self.resources.enter_context(Broker(directory / "kafka"))
        self.ledger = self.resources.enter_context(self.application(directory / "ledger", self.broker.servers))

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return the rounds, with half as many kills of the broker as of the run."""
        return [*super().rounds(each, kills), *[BROKER] * (kills // 2)]

    def play(self, round: str, restart: Callable[[Broker], None] = Broker.start) -> tuple[bool, str]:
        """Kill the run or the broker once; `restart` starts the broker again."""
        if round != BROKER:
            return play_round(self.ledger, round, self.dice)
        self.ledger.feed(2)
        return kill_broker(self.ledger, self.broker, self.dice, restart)

    def settle(self) -> list[str]:
        """Run to the end, and compare with the expected records."""
        self.ledger.require_success(self.ledger.run())
        print(f"{self.ledger.files * BATCH:,} records fed")
        return compared(self.ledger.records(), expected(self.ledger), doubled_allowed=self.ledger.topics)


class Deduplicated(Kafka):
    """The application with deduplicating inlets."""

    application = DeduplicatingLedger
