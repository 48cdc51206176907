"""The streamlets, blueprints and jobs of pages: each is verified, drawn, built on Spark, described and stepped.

A blueprint of a page may be a part of one: the files that the page leaves out are in `FILES`. The pages of diagnostics
are specifications, which `tests/diagnostics` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlets.testkit import Testkit
from tests.crossings.built_logic import check_logic, check_step, logic, modules, run
from tests.pages import BLOCK, REPOSITORY, blocks, text_of

__all__ = ["logic", "modules"]

PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "examples/*/README.md", "cli/templates/*/README.md")
    for path in REPOSITORY.glob(pattern)
)

READING = "station string, celsius double"
SENSORS = f"""
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Sensors(SparkStreamlet):
    out = AvroOutlet(schema="{READING}")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            rows = self.source("rows", format="rate")
            return self.write_stream(rows.selectExpr("'oslo' AS station", "1.5D AS celsius"), self.streamlet.out)
"""
HEAT = f"""
import streamlets
from streamlets import AvroInlet, AvroOutlet, StringParameter

Reading, Hot = "{READING}", "station string"
"""
HOT = '{"type": "record", "name": "Hot", "fields": [{"name": "station", "type": "string"}, '
HOT += '{"name": "celsius", "type": ["null", "double"]}]}'
ALARM = '{"type": "record", "name": "Alarm", "fields": [{"name": "gauge", "type": "string"}, '
ALARM += '{"name": "celsius", "type": "double"}]}'
ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'

FILES: dict[str, dict[str, str]] = {
    "README.md": {"incoming/.keep": ""},
    "docs/batch-sources.md": {"data/orders.csv": "id,product\n1,tea\n2,rice\n"},
    "docs/fusion.md": {"logs/.keep": ""},
    "docs/save-stream.md": {"weather.py": SENSORS, "schemas/Hot.avsc": HOT, "in/.keep": ""},
    "docs/sinks.md": {"schemas/Alarm.avsc": ALARM},
    "docs/sources.md": {"data/orders.csv": "id\n", "readings/.keep": "", "schemas/Alarm.avsc": ALARM},
    "docs/spouts.md": {"schemas/Order.avsc": ORDER, "poll.sh": "exit 0\n"},
}
"""What a page expects to be there, by path."""

MODULES = {
    "docs/batch-sources.md": ("orders.py", ""),
    "docs/fusion.md": ("logs.py", ""),
    "docs/save-stream.md": ("heat.py", HEAT),
    "docs/sinks.md": ("reports.py", ""),
    "docs/sources.md": ("toy_source.py", ""),
    "docs/spouts.md": ("feeds.py", ""),
    "docs/streamlets.md": ("guide.py", ""),
}
"""The file for the Python of a page that has no names of files, and its first lines."""

CLASSES = (
    ("docs/save-stream.md", "heat.Heat", "readings", "hot"),
    ("docs/spouts.md", "feeds.Numbers", "", "out"),
    ("docs/streamlets.md", "guide.MovingAverage", "readings", "averages"),
    ("docs/streamlets.md", "guide.HoppingAverage", "readings", "averages"),
    ("docs/streamlets.md", "guide.ExportedAverage", "readings", "averages"),
)
"""The streamlets of a page that no blueprint of it has, each with its inlet and outlet."""

ELSEWHERE = {
    "docs/diagnostics.md": "tests/diagnostics/pages.py",  # the streamlets of the pages of diagnostics
    "docs/ingress.md": "tests/examples/test_ingress.py",  # runs the five ways, and compares the page with them
    "docs/without-code.md": "tests/manual/test_without_code.py",  # types the commands, and runs what they make
    "docs/tutorial.md": "tests/manual/test_tutorial.py",  # follows the page, from `flow new` to the last command
}

ENVIRONMENT = ("KEY_ID", "KEY", "CATALOG_TOKEN", "SALES_PASSWORD", "DESK_TOKEN")
"""The environment variables that pages use."""

ROWS = "gauge string, region string, id long, changed timestamp, op string"
"""The schema of what a sink of a page gets."""


def texts(page: str) -> Iterator[tuple[str, str]]:
    """Yield the blueprints and jobs of a page, each with the name of its file.

    The streamlet in a block without wiring gets a topic of others.
    """
    for block in blocks(page, "hocon"):
        if "blueprint {" in block:
            yield "blueprint.conf", block
        elif match := re.match(r"(\w+) \{\n  class = (\S+)", block):
            ref, name = match.groups()
            yield (
                "blueprint.conf",
                f"blueprint.streamlets {{\n{block}}}\n"
                + (
                    _reader(ref, block)
                    if name == "streamlets.Sink"
                    else f"blueprint.topics.rows.producers = [{ref}.out]\n"
                ),
            )
    for name, inlet, outlet in (row for of, *row in CLASSES if of == page):
        inlets = f"a {{ consumers = [s.{inlet}], managed = false }}, " if inlet else ""
        topics = f"topics {{ {inlets}b.producers = [s.{outlet}] }}"
        yield "blueprint.conf", f"blueprint {{ streamlets.s = {name}, {topics} }}\n"
    for block in blocks(page, "sql"):
        yield "job.sql", block


def _reader(ref: str, block: str) -> str:
    schema = "" if "inlets.in" in block else f'flow.streamlets.{ref}.inlets.in = "{ROWS}"\n'
    return f"{schema}blueprint.topics.rows {{ consumers = [{ref}.in], managed = false }}\n"


APPLICATIONS = [
    pytest.param(page, file, text, id=f"{page}-{number}")
    for page in PAGES
    if page not in ELSEWHERE
    for number, (file, text) in enumerate(texts(page))
]

STREAMLET = re.compile(r"^class (\w+)\((?:streamlets\.)?\w*(?:Streamlet|Source|Spout|Sql|Average)\)", re.MULTILINE)
INDENTED = re.compile(r"^ {4,}class = |^    class \w+\(\w*(Streamlet|Source|Spout|Sql)\)", re.MULTILINE)
"""Streamlets in a block without a language, which no test reads."""


def test_every_streamlet_of_a_page_is_built() -> None:
    """A page with streamlets in a blueprint or in Python is here, or has a test of its own."""
    built = "\n".join(str(parameter.values[2]) for parameter in APPLICATIONS)
    for page in PAGES:
        if page in ELSEWHERE:
            assert Path(page).name in text_of(ELSEWHERE[page])
            continue
        assert not INDENTED.search(BLOCK.sub("", text_of(page))), page
        for block in blocks(page, "python"):
            assert [name for name in STREAMLET.findall(block) if f".{name}" not in built] == [], page
        number = sum(bool(re.search(r"(?<![\w-])class = ", block)) for block in blocks(page, "hocon"))
        assert number <= sum(parameter.values[0] == page for parameter in APPLICATIONS), page


@pytest.fixture
def arguments(page: str, file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write an application and the files of its page; return the name of its file and its settings."""
    directory = tmp_path / "my-app"
    directory.mkdir()
    named = dict(re.findall(r"^```\w+ ([\w./-]+\.\w+)\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL))
    if page in MODULES:
        name, first = MODULES[page]
        python = [block for block in blocks(page, "python") if "testkit" not in block and "SinkType" not in block]
        named[name] = "\n".join([first, *python])
    for name, content in (named | FILES.get(page, {}) | {file: text}).items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(directory)
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "x")
    return [file, "input=in"] if "${input}" in text else [file]


every_application = pytest.mark.parametrize(("page", "file", "text"), APPLICATIONS)


@pytest.mark.spark
@every_application
def test_an_application(page: str, arguments: list[str], logic: None) -> None:
    """It is valid, has a drawing, and its logic has no finding."""
    assert run("graph", *arguments).strip()
    check_logic(*arguments)


@pytest.mark.full  # a query takes seconds to start, and few pages come with records
@pytest.mark.spark
@every_application
def test_a_step(page: str, arguments: list[str], kit: Testkit) -> None:
    """The testkit steps it."""
    check_step(kit.application(arguments[0], arguments=arguments[1:]))
