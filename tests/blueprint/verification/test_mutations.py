"""Verification of a mutated blueprint reports findings and never raises."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from blueprint.catalog import ParameterDescriptor, ParameterType
from blueprint.diagnostics.renderers import RENDERERS
from blueprint.verification.verify import verify
from tests.blueprint.paper import PaperCatalog, at, record, streamlet

READING = record("Reading", src="string", value="double")
RATE = ParameterDescriptor(key="rate", description="", type=ParameterType.INTEGER, default="10", declared=at(3))
CATALOG = PaperCatalog(
    streamlet("app.Sensors", outlets={"readings": READING}, line=10, on_invalid="dead-letters"),
    streamlet("app.Means", inlets={"readings": READING}, outlets={"means": READING}, line=30),
    streamlet("app.Archive", inlets={"in": READING}, line=50),
)
TEXT = """\
# weather
blueprint {
  streamlets {
    sensors { class = app.Sensors, trigger { processing-time = 2 seconds }, retry.max-attempts = 3 }
    "means" = app.Means
    archive = app.Archive
  }
  topics {
    readings { producers = [sensors.readings], consumers = ["means.readings"], topic { name = raw, partitions = 3 } }
    means = ${side} { producers = [means.means] }
  }
}
side { consumers = [archive.in], managed = yes }
flow.streamlets.sensors { spark.sql.shuffle.partitions = 4, inlets.x = "a" }
flow { application = weather, runtimes.spark.x = 1, topics.readings.topic.replicas = ${?REPLICAS} }
"""
PIECES = [
    "{", "}", "[", "]", "=", ":", ",", "\n", '"', '"""', "${", "${?x}", "${side}", "+=", ".", "..", "#", "\\", "\t",
    "\u00a0", "日本", "\x00", "null", "true", "5 s", "-1", "include", 'include "x"', "blueprint", "topics", "1e999",
    "streamlets", "flow", "connections", "[[", "{}", "[]", "class", "producers", "'", "&", "\ufeff",
]  # fmt: skip
MUTATIONS = 300


def mutated(text: str, random: random.Random) -> str:
    """Return the text with one to four small mistakes."""
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text))
        match random.randrange(5):
            case 0:
                text = text[:at] + text[at + random.randint(1, 12) :]
            case 1:
                text = text[:at] + random.choice(PIECES) + text[at:]
            case 2:
                words = text.split(" ")
                first, second = random.randrange(len(words)), random.randrange(len(words))
                words[first], words[second] = words[second], words[first]
                text = " ".join(words)
            case 3:
                lines = text.split("\n")
                lines.insert(random.randrange(len(lines)), random.choice(lines))
                text = "\n".join(lines)
            case _:
                text = text[:at] + random.choice(PIECES) + text[at + 1 :]
        text = text or " "
    return text


def test_the_original_text_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its only mistake, which is intended, is the setting of an inlet that does not exist."""
    monkeypatch.chdir(tmp_path)
    Path("blueprint.conf").write_text(TEXT.replace(', inlets.x = "a"', ""), encoding="utf-8")
    assert verify("blueprint.conf", catalog=CATALOG, environment={}, working_directory=tmp_path).plan is not None


@pytest.mark.parametrize("seed", range(6))
def test_mutated_blueprints_never_raise(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mutation has a report in every format; there is a plan exactly if there is no error."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(seed)
    for _ in range(MUTATIONS // 6):
        text = mutated(TEXT, chance)
        Path("blueprint.conf").write_text(text, encoding="utf-8")
        verification = verify("blueprint.conf", catalog=CATALOG, environment={}, working_directory=tmp_path)
        assert verification.ok == (verification.plan is not None), text
        for render in RENDERERS.values():
            assert render(verification, color=bool(chance.randrange(2)), width=chance.choice([40, 80, 200]))


def test_random_bytes_never_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with random content has a finding."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(7)
    for _ in range(100):
        Path("blueprint.conf").write_bytes(chance.randbytes(chance.randrange(200)))
        verification = verify("blueprint.conf", catalog=CATALOG, environment={}, working_directory=tmp_path)
        assert not verification.ok
        assert RENDERERS["full"](verification)


def test_ten_megabytes_of_braces_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Excessive nesting is reported without recursion."""
    monkeypatch.chdir(tmp_path)
    Path("blueprint.conf").write_text("{" * 10_000_000, encoding="utf-8")
    limit = sys.getrecursionlimit()
    verification = verify("blueprint.conf", catalog=CATALOG, environment={}, working_directory=tmp_path)
    assert not verification.ok
    assert len(RENDERERS["full"](verification)) < 10_000
    assert sys.getrecursionlimit() == limit
