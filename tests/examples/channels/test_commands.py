"""A channel of another package, `examples/channels/sqlite`, which is found by its entry point: the commands work on it.

The run has streamlets of a kind (`tests/toy_kind`) and a sink (`tests/toy_sink`) of other packages, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlets.channels.registry import CHANNEL_TYPES
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.installed import installed_channel

TESTS = Path(__file__).resolve().parents[2]
PACKAGES = tuple(str(TESTS / name) for name in ("toy_kind", "toy_sink"))
MODULE = """
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic

CAR = {"type": "record", "name": "Car", "fields": [
    {"name": "id", "type": "long"},
    {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": SYMBOLS}},
]}


class Source(SparkStreamlet):
    cars = AvroOutlet(schema=CAR, on_invalid="dead-letters")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            options = {"path": self.context.path("in")}
            rows = self.source("files", format="csv", schema="id long, colour string", options=options)
            return self.write_stream(rows, self.streamlet.cars)


class Copy(SparkStreamlet):
    cars = AvroInlet(schema=CAR)
    ids = AvroOutlet(schema="id long")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.cars).select("id"), self.streamlet.ids)
"""
BLUEPRINT = """
blueprint {
  streamlets {
    source = cars.Source
    copy = cars.Copy
    counter { class = toy_kind.Ticker, parameters.data = in }
    archive { class = streamlets.Sink, parameters { to = lines, options { path = out/ids, prefix = part } } }
    numbers { class = streamlets.Sink, parameters { to = lines, options.path = out/numbers } }
  }
  topics {
    cars { producers = [source.cars], consumers = [copy.cars], channel = sqlite, retention.time = 30 days }
    ids { producers = [copy.ids], consumers = [archive.in], channel = sqlite }
    numbers { producers = [counter.out], consumers = [numbers.in], channel = sqlite }
  }
}
flow.application = cars
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an application on the channel, and put the packages on the path, also of other processes."""
    for package in PACKAGES:
        monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((*PACKAGES, str(TESTS.parent))))
    installed_channel("sqlite", tmp_path / "packages", monkeypatch)
    write_module(tmp_path, "RED", "BLUE")
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "first.csv").write_text("1,RED\n2,GREEN\n3,BLUE\n")
    yield tmp_path
    for module in ("cars", "toy_kind", "toy_sink"):
        sys.modules.pop(module, None)


def write_module(folder: Path, *colours: str) -> None:
    """Write the module of the application, whose records have one of these colours."""
    (folder / "cars.py").write_text(MODULE.replace("SYMBOLS", json.dumps(colours)))


def command(folder: Path, *arguments: str) -> str:
    """Return the output of a command that another process runs."""
    line = [str(Path(sys.executable).parent / "flow"), *arguments]
    ended = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def saved(folder: Path, files: str) -> list[dict[str, int]]:
    """Return the records in the file that a sink wrote for its only batch."""
    (file,) = (folder / "out").glob(f"{files}-*-000000000.json")
    return [json.loads(line) for line in file.read_text().splitlines()]


def tail(flow: Flow, topic: str) -> list[int]:  # noqa: F811 - a fixture
    """Return the ids of the records of a topic, sorted."""
    return sorted(json.loads(line)["id"] for line in flow("tail", topic, "--format", "jsonl").out.splitlines())


def test_verify_and_describe_know_the_channel(flow: Flow, folder: Path) -> None:  # noqa: F811
    """It is found by its entry point; the dead letters are on the channel of their outlet."""
    assert {"delta", "sqlite"} <= {*CHANNEL_TYPES}
    assert flow("verify", str(folder)).code == 0
    described = json.loads(flow("describe", str(folder)).out)
    assert described["topics"]["cars"]["channel"] == "sqlite"
    assert described["topics"]["dead-letters.source"]["channel"] == "sqlite"


@pytest.mark.spark
@pytest.mark.slow
def test_the_commands_work_on_the_channel(
    flow: Flow, folder: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """A run writes and reads its topics; other processes list, show and replay their records. The kind and the sink of
    other packages take part in the run."""
    monkeypatch.chdir(folder)
    command(folder, "run", "--available-now")
    assert tail(flow, "ids") == sorted(row["id"] for row in saved(folder, "ids/part")) == [1, 3]
    assert sorted(row["number"] for row in saved(folder, "numbers/batch")) == [*range(50)]
    listed = {line.split()[0]: line for line in flow("topics").out.splitlines() if line.strip()}
    assert {"cars", "ids", "dead-letters.source"} <= {*listed}
    assert not list((folder / ".flow" / "cars" / "topics").glob("*/_delta_log")), "no topic is on another channel"
    ports = json.loads(flow("status", "--ports", "--format", "json").out)["cars"]["ports"]
    counts = {(port["streamlet"], port["port"]): (port["records"], port["backlog"]) for port in ports}
    assert (counts["source", "cars"], counts["copy", "cars"], counts["copy", "ids"]) == ((2, None), (2, 0), (2, None))
    assert next(port["acknowledged"] for port in ports if (port["streamlet"], port["port"]) == ("copy", "cars"))
    letters = json.loads(flow("dead-letters", "list", "--format", "json").out)["cars"]
    assert [(letter["streamlet"], letter["waiting"]) for letter in letters] == [("source", 1)]
    assert "GREEN" in flow("dead-letters", "show", "source").out
    write_module(folder, "RED", "BLUE", "GREEN")
    sys.modules.pop("cars", None)
    assert flow("dead-letters", "replay", "source").code == 0
    assert tail(flow, "cars") == [1, 2, 3]
    letters = json.loads(flow("dead-letters", "list", "--format", "json").out)["cars"]
    assert [(letter["waiting"], letter["replayed"]) for letter in letters] == [(0, 1)]
