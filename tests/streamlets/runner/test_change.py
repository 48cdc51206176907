"""Applications change on their topics and checkpoints: no record is lost or duplicated; some changes are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamlets.spark.failure import failure_of
from streamlets.testkit import Testkit
from streamlets.testkit.application import ApplicationUnderTest
from streamlets.testkit.failures import StepFailedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_APP = "tests.streamlets.runner.change_app"


class Deployed:
    """An application whose blueprint changes while its state stays."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._kit = Testkit(spark, directory / "state")
        self._directory = directory

    def become(self, streamlets: str, topics: str, *settings: str) -> ApplicationUnderTest:
        """Return the next version."""
        text = f"blueprint {{\n streamlets {{\n{streamlets} }}\n topics {{\n{topics} }}\n}}\nflow.application = app\n"
        path = self._directory / "blueprint.conf"
        path.write_text(text.replace("@", f"{_APP}."))
        return self._kit.application(path, arguments=settings)


@pytest.fixture
def deployed(spark: SparkSession, tmp_path: Path) -> Deployed:
    """An application without a version yet."""
    return Deployed(spark, tmp_path)


def events(ids: Iterable[int], minute: int = 0) -> list[dict[str, Any]]:
    """Return events of two keys at intervals of a second."""
    return [{"id": i, "at": f"2024-01-01T00:{minute:02}:{i % 60:02}", "key": "ab"[i % 2]} for i in ids]


def test_inlets_and_streamlets_come_and_go(deployed: Deployed) -> None:
    """Inlets are added, removed and reordered, a streamlet is added and removed, a parameter and a trigger change: each
    record is processed once."""
    raw = "{name} {{ consumers = [join.{name}], managed = no }}\n"
    a, b, c = (raw.format(name=name) for name in "abc")
    app = deployed.become(" join = @JoinedAB", a + b + "joined { producers = [join.out] }")
    app.topic("a").put(events(range(5)))
    app.topic("b").put(events(range(10, 15)))
    app.step()
    app.topic("b").put(events(range(15, 20)))  # not read by this version
    both = "joined { producers = [join.out], consumers = [copy.joined] }\ncopied { producers = [copy.copied] }"
    app = deployed.become(
        " join = @JoinedBCA\n copy = @Copy",
        a + b + c + both,
        "flow.streamlets.join.parameters.least=3",
        "flow.streamlets.join.trigger.processing-time=1 second",
    )
    app.topic("c").put(events(range(5)))
    app.topic("a").put(events(range(5, 8)))
    app.step()
    first = [*range(5), *range(10, 15)]
    second = [*range(15, 20), 3, 4, *range(5, 8)]
    assert Counter(row["id"] for row in app.topic("copied").take()) == Counter([*first, *second])
    app = deployed.become(" join = @JoinedC", c + "joined { producers = [join.out] }")
    app.topic("c").put(events([30]))
    app.step()
    assert Counter(row["id"] for row in app.topic("joined").take()) == Counter([*first, *second, 30])


@pytest.mark.parametrize("middle", [("Writer1", "Reader2"), ("Writer2", "Reader1")])
def test_a_schema_evolves_readers_or_writers_first(deployed: Deployed, middle: tuple[str, str]) -> None:
    """A topic in use has old and new records. Every reader reads each record once, the new reader with the default of a
    field that the writer did not have."""
    topics = (
        "raw { consumers = [write.events], managed = no }\n"
        "orders { producers = [write.orders], consumers = [read.orders] }\nseen { producers = [read.seen] }"
    )
    for number, (writer, reader) in enumerate([("Writer1", "Reader1"), middle, ("Writer2", "Reader2")]):
        app = deployed.become(f" write = @{writer}\n read = @{reader}", topics)
        app.topic("raw").put(events([number * 10, number * 10 + 1]))
        app.step()
    seen = sorted((row["id"], row["note"]) for row in app.topic("seen").take())
    between = "none" if middle == ("Writer1", "Reader2") else "-"
    notes = ["-", "-", between, between, "said", "said"]
    assert seen == list(zip([0, 1, 10, 11, 20, 21], notes, strict=True))


_STATEFUL = " windows = @Windows\n once = @Once\n totals = @Totals"
_TOPICS = """
  events  { consumers = [windows.events, once.events, totals.events], managed = no }
  counts  { producers = [windows.counts] }
  ids     { producers = [once.ids] }
  totals  { producers = [totals.totals] }
"""


def test_stateful_streamlets_continue_with_their_state(deployed: Deployed) -> None:
    """Windows, deduplication and custom state, restarted twice and with a changed parameter, have the result of an
    uninterrupted run. A change that Spark cannot carry over is refused with help; after the old code is restored, no
    record is lost or duplicated."""
    app = deployed.become(_STATEFUL, _TOPICS)
    app.topic("events").put(events(range(20)))
    app.step()
    app = deployed.become(_STATEFUL, _TOPICS, "flow.streamlets.windows.parameters.late=5 seconds")
    app.topic("events").put(events(range(15, 30)))

    changed = deployed.become(_STATEFUL.replace("@Once", "@OncePerKey"), _TOPICS)
    with pytest.raises(StepFailedError, match=r"once\.ids.*STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE") as refused:
        changed.streamlet("once").step()
    cause = refused.value.__cause__
    assert cause is not None
    assert "`flow checkpoints reset`" in failure_of(cause, building=False).fatal

    app.step()
    app.restart()
    app.topic("events").put([*events(range(30, 34)), *events([0], minute=5)])
    app.step()
    fed = Counter([*range(20), *range(15, 30), *range(30, 34)])
    ids = [row["id"] for row in app.topic("ids").take()]
    assert sorted(ids) == list(range(34))
    windows = {(row["key"], row["start"].second): row["n"] for row in app.topic("counts").take()}
    expected: Counter[tuple[str, int]] = Counter()
    for i, times in fed.items():
        expected["ab"[i % 2], i // 10 * 10] += times
    assert windows == expected
    totals = {row["key"]: row["n"] for row in app.topic("totals").take()}  # the last one of each key counts
    assert totals == {key: sum(times for i, times in fed.items() if "ab"[i % 2] == key) + (key == "a") for key in "ab"}
