"""An application with a streamlet of each kind under test: steps, topics, settings files, and what is left behind."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from streamlets.testkit import SourceStep, Testkit, TestkitError

MODULE = '''
from streamlets import *


class Numbers(BatchSource):
    """Discovers a number for each letter of its parameter."""

    out = AvroOutlet(schema="n long not null, letter string not null")
    letters = StringParameter("letters", default="ab")
    discovery = ObjectParameter("discovery", default={"triggerer": "immediate"})

    def open(self, config, context):
        self._letters = config["letters"]

    def discover(self, eat, event):
        for number, letter in enumerate(self._letters):
            eat({"n": number, "letter": letter}, key=letter)

    def prepare(self, task):
        self._left = [task]

    def read_next(self):
        return self._left.pop() if self._left else None


class Ticks(GeneratorSpout):
    """Emits a number in each transaction."""

    out = AvroOutlet(schema="n long not null")

    def run(self, out, resume):
        for number in range(3):
            yield out.transaction([{"n": number}], resume=number)


class Odd(SparkStreamlet):
    """Keeps odd numbers."""

    numbers = AvroInlet(schema="n long not null")
    odd = AvroOutlet(schema="n long not null")

    class Logic(SparkStreamletLogic["Odd"]):
        def build_streaming_queries(self):
            me = self.streamlet
            return self.write_stream(self.read_stream(me.numbers).where("n % 2 = 1"), me.odd)
'''
BLUEPRINT = """
blueprint {
  streamlets {
    source = mixed.Numbers
    spout  = mixed.Ticks
    odd    = mixed.Odd
    again {
      class = streamlets.Sql
      outlets.copied = "n long not null"
      parameters.statements = "CREATE TEMPORARY VIEW seen AS SELECT n FROM odd; SAVE STREAM seen TO copied;"
    }
    archive { class = streamlets.Sink, inlets.in = "n long not null", parameters { to = json, options.path = out } }
  }
  topics {
    numbers { producers = [source.out], consumers = [odd.numbers] }
    ticks   { producers = [spout.out] }
    odd     { producers = [odd.odd], consumers = [again.odd] }
    copied  { producers = [again.copied], consumers = [archive.in] }
  }
}
"""


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """Create the application, and a file with settings of it."""
    (tmp_path / "mixed.py").write_text(MODULE)
    (tmp_path / "more.conf").write_text("flow.streamlets.source.parameters.letters = abcd\n")
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    return tmp_path / "blueprint.conf"


@pytest.mark.spark
def test_every_kind_in_one_application(kit: Testkit, blueprint: Path) -> None:
    """A step discovers and reads tasks; SQL and Python follow; a second step reads what was discovered since."""
    app = kit.application(blueprint, conf=[blueprint.parent / "more.conf"])
    children = set(psutil.Process().children(recursive=True))
    steps = app.step()
    assert list(steps) == [own.ref for own in app.plan.streamlets if own.kind.name != "spout"]
    assert isinstance(steps["source"], SourceStep) and steps["source"].rows_in == 4
    assert steps["odd"].rows_in == 4 and steps["archive"].rows_in == 2
    assert sorted(row["n"] for row in app.sink("archive").take()) == [1, 3]
    app.restart()
    assert {ref: step.rows_in for ref, step in app.step().items()} == dict.fromkeys(steps, 0)
    assert app.batch_source("source").discover() == [] and app.spout("spout").run() == ""
    kit.close()
    left = set(psutil.Process().children(recursive=True)) - children
    assert not [process for process in left if "streamlets" in " ".join(process.cmdline())]


@pytest.mark.spark
def test_a_topic_has_the_schema_of_its_writer(kit: Testkit, blueprint: Path) -> None:
    """A test puts records as a producer does, with fields that no consumer reads, and reads as a consumer does."""
    app = kit.application(blueprint)
    app.topic("numbers").put([{"n": 5, "letter": "x"}])
    assert app.topic("numbers").take() == [{"n": 5}]
    assert app.streamlet("odd").step().rows_in == 1


@pytest.mark.spark
def test_the_limit_of_a_query(kit: Testkit, blueprint: Path) -> None:
    """It can be set for a step, and the message names the query and the argument. The next step does the rest."""
    app = kit.application(blueprint, arguments=("flow.streamlets.odd.inlets.numbers.max-records = 1",))
    for number in range(20):  # each is a batch, so the query is busy for longer than a busy machine pauses the test
        app.topic("numbers").put([{"n": 2 * number + 1, "letter": "x"}])
    with pytest.raises(
        TestkitError, match=r"`odd\.odd` did not end within 0\.001 seconds; see `step\(seconds=\.\.\.\)`"
    ):
        app.streamlet("odd").step(seconds=0.001)
    app.streamlet("odd").step()
    assert len(app.topic("odd").take()) == 20


def test_a_step_follows_one_that_was_stopped_while_spark_wrote_its_first_plan(kit: Testkit, blueprint: Path) -> None:
    """Spark leaves an unfinished file then, and refuses to begin while there is any."""
    app = kit.application(blueprint)
    app.batch_source("source").run()
    offsets = Path(app.streamlet("odd").context.checkpoint_dir("odd")) / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.455ec1d0-8011-4cb4-a970-bebb7fa006b5.tmp").touch()
    assert app.streamlet("odd").step().rows_in == 2


def test_an_application_without_queries_needs_no_spark(tmp_path: Path, blueprint: Path) -> None:
    """Its batch sources and spouts run in the process of the test."""
    blueprint.write_text("blueprint { streamlets.source = mixed.Numbers, topics.numbers.producers = [source.out] }")
    with Testkit(directory=tmp_path / "kit") as kit:
        app = kit.application(blueprint)
        assert app.step()["source"].rows_in == 2
        assert [row["letter"] for row in app.topic("numbers").take()] == ["a", "b"]
        tasks = app.plan.streamlets[0].tasks
        assert tasks is not None
        assert [row["key"] for row in app.topic(tasks).take()] == ["a", "b"]
