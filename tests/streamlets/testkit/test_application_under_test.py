"""An application under test: it is verified, and stepped in topological order."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from streamlets.testkit import Testkit, TestkitError

MODULE = '''
from streamlets import *

READING = "src string not null, value double not null"


def shout(text: str) -> str:
    return text.upper() + MARK


MARK = "!"


class Filter(SparkStreamlet):
    """Keeps values above a limit."""

    readings = AvroInlet(schema=READING)
    kept = AvroOutlet(schema=READING)
    limit = DoubleParameter("The lowest value to keep")

    class Logic(SparkStreamletLogic["Filter"]):
        def build_streaming_queries(self):
            me = self.streamlet
            return self.write_stream(self.read_stream(me.readings).where(f"value >= {self.value(me.limit)}"), me.kept)


class Shout(SparkStreamlet):
    """Converts to upper case, in Python."""

    readings = AvroInlet(schema=READING)
    shouted = AvroOutlet(schema="text string")

    class Logic(SparkStreamletLogic["Shout"]):
        def build_streaming_queries(self):
            from pyspark.sql import functions as F

            me = self.streamlet
            rows = self.read_stream(me.readings).select(F.udf(shout, "string")("src").alias("text"))
            return self.write_stream(rows, me.shouted)
'''

BLUEPRINT = """
blueprint {
  streamlets {
    shout  = loud.Shout
    filter { class = loud.Filter, parameters { limit = 1 } }
  }
  topics {
    raw     { consumers = [filter.readings], managed = no }
    kept    { producers = [filter.kept], consumers = [shout.readings] }
    shouted { producers = [shout.shouted] }
  }
}
"""


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """Create an application of two streamlets in a chain, with its modules in `src`."""
    directory = tmp_path / "app"
    (directory / "src").mkdir(parents=True)
    (directory / "src" / "loud.py").write_text(MODULE)
    (directory / "blueprint.conf").write_text(textwrap.dedent(BLUEPRINT))
    return directory / "blueprint.conf"


@pytest.mark.spark
def test_producers_are_stepped_before_consumers(kit: Testkit, blueprint: Path) -> None:
    """A step moves records from the first topic to the last, through a UDF in a module of the project."""
    app = kit.application(blueprint, arguments=["flow.streamlets.filter.parameters.limit=2"])
    app.topic("raw").put([{"src": "a", "value": 1.0}, {"src": "b", "value": 2.0}])
    steps = app.step()
    assert list(steps) == ["filter", "shout"]
    assert app.topic("kept").take() == [{"src": "b", "value": 2.0}]
    assert app.topic("shouted").take() == [{"text": "B!"}]
    app.restart()
    app.streamlet("shout").inlet("readings").put([{"src": "c", "value": 0.0}])
    app.streamlet("shout").step()
    assert app.streamlet("shout").outlet("shouted").take()[-1] == {"text": "C!"}
    with pytest.raises(TestkitError, match="there is no topic `shoutd`; did you mean `shouted`"):
        app.topic("shoutd")
    with pytest.raises(TestkitError, match="there is no streamlet `x`; available: filter, shout"):
        app.streamlet("x")


def test_an_invalid_application_is_an_error(blueprint: Path, tmp_path: Path) -> None:
    """It is verified as by `flow verify`, and the message has all findings."""
    blueprint.write_text(blueprint.read_text().replace("filter.readings", "filter.readngs").replace("limit = 1", ""))
    with Testkit(None, tmp_path / "kit") as kit, pytest.raises(TestkitError) as raised:
        kit.application(blueprint)
    message = str(raised.value)
    assert "readngs" in message and "limit" in message and "blueprint.conf, line " in message
