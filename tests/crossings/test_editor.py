"""Completion in editors: what a sink, a triggerer or a codec declares is offered at its place. `|` is the cursor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import streamlets
from blueprint.catalog import LoadFailure, Option, ParameterType, StreamletRequest
from cli.lsp.completion import ProjectKnowledge, Proposal, proposals
from cli.lsp.cursor import cursor_at, without_statement
from cli.lsp.hover import hover_at
from cli.lsp.open_application import OpenApplication
from cli.lsp.positions import Place
from streamlets.egress import SINKS
from streamlets.ingress.sources import SOURCES
from streamlets.ingress.spouts.codecs import codec_keys
from streamlets.ingress.triggerers.registry import TRIGGERERS, make_triggerer, options_of
from streamlets.project.catalog import ProjectCatalog

TOY_SINK = Path(__file__).resolve().parents[1] / "toy_sink"
COLUMNS = {"id", "product", "day"}
MODULE = """
from streamlets import AvroOutlet, BatchSource
from streamlets.ingress.triggerers import TriggererOption

class Orders(BatchSource):
    out = AvroOutlet(schema="id long, product string, day date")

    def discover(self, eat, event):
        pass

    def prepare(self, task):
        pass

    def read_next(self):
        return None

class Bell:
    options = (TriggererOption(name="tone", description="how it sounds", default="a"),)

    def init(self, config, context):
        pass

    def start(self, trigger):
        pass

    def stop(self):
        pass
"""
BLUEPRINT = """
blueprint {{
  streamlets {{
    orders {{ class = shop.Orders, parameters {{ {orders} }} }}
    feed {{ class = streamlets.Spout, parameters {{ {feed} }} }}
    files {{
      class = streamlets.Source
      outlets.out = "id long, product string, day date"
      parameters {{ {files} }}
    }}
    archive {{
      class = streamlets.Sink
      parameters {{ {archive} }}
    }}
  }}
  topics {{ orders {{ producers = [orders.out], consumers = [archive.in] }} }}
}}
{settings}
"""


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """The path of a blueprint in a project with a batch source."""
    (tmp_path / "shop.py").write_text(MODULE)
    return tmp_path / "blueprint.conf"


@pytest.fixture
def toy_sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the package of another sink, `lines`."""
    monkeypatch.syspath_prepend(str(TOY_SINK))
    yield
    sys.modules.pop("toy_sink", None)


def offered(
    blueprint: Path, *, orders: str = "", feed: str = "", files: str = "", archive: str = "", settings: str = ""
) -> dict[str, Proposal]:
    """Return what is proposed at the cursor, by text."""
    marked = BLUEPRINT.format(orders=orders, feed=feed, files=files, archive=archive, settings=settings)
    offset, text = marked.index("|"), marked.replace("|", "")
    blueprint.write_text(text)
    application, cursor = OpenApplication(blueprint), cursor_at(text, offset)
    application.read_repaired({}, blueprint.resolve(), without_statement(text, offset))
    assert cursor is not None
    project = ProjectKnowledge(application.classes, application.known_keys)
    return {proposal.text: proposal for proposal in proposals(cursor, application.draft, project)}


@pytest.mark.usefixtures("toy_sink")
def test_every_sink_is_offered(blueprint: Path) -> None:
    """Those of other packages, too; each with what it writes."""
    found = offered(blueprint, archive="to = |")
    assert {*found} == {*SINKS}
    assert "lines" in found
    assert {name: proposal.doc for name, proposal in found.items()} == {
        name: SINKS[name].traits.description for name in found
    }


@pytest.mark.usefixtures("toy_sink")
@pytest.mark.parametrize("sink", [*SINKS, "lines"])
def test_every_option_of_a_sink_is_offered(blueprint: Path, sink: str) -> None:
    """With its description; a required one comes first, and values are offered where they are known."""
    traits = SINKS[sink].traits
    found = offered(blueprint, archive=f"to = {sink}\n options {{ |")
    assert {*found} == {option.name for option in traits.options}
    for option in traits.options:
        proposal = found[option.name]
        assert (proposal.doc, proposal.first) == (option.description, option.required)
        assert option.default is None or option.default in proposal.detail
        values = offered(blueprint, archive=f"to = {sink}\n options {{ {option.name} = | }}")
        assert {*values} == _values(option)


def _values(option: Option) -> set[str]:
    if option.columns:
        return COLUMNS
    return {"true", "false"} if option.type is ParameterType.BOOLEAN else {*option.choices}


@pytest.mark.parametrize("sink", SINKS)
def test_partition_columns_are_those_of_the_inlet(blueprint: Path, sink: str) -> None:
    """Also after a comma; a sink without partitions gets none."""
    columns = COLUMNS if SINKS[sink].traits.partitioning else set()
    assert {*offered(blueprint, archive=f"to = {sink}, partition-by = |")} == columns
    assert {*offered(blueprint, archive=f'to = {sink}, partition-by = "day, |"')} == columns


@pytest.mark.parametrize("source", SOURCES)
def test_every_option_of_a_source_is_offered(blueprint: Path, source: str) -> None:
    """With its description and its known values, and the settings of the triggerer that is the default."""
    assert {*offered(blueprint, files="from = |")} == {*SOURCES}
    traits = SOURCES[source].traits
    found = offered(blueprint, files=f"from = {source}\n options {{ |")
    assert {*found} == {option.name for option in traits.options}
    for option in traits.options:
        assert (found[option.name].doc, found[option.name].first) == (option.description, option.required)
        values = offered(blueprint, files=f"from = {source}\n options {{ {option.name} = | }}")
        assert {*values} == _values(option)
    triggerer = make_triggerer(str(traits.discovery["triggerer"]))
    config = offered(blueprint, files=f"from = {source}\n discovery {{ config {{ |")
    assert {*config} == {option.name for option in options_of(triggerer)}


def test_options_with_dots_are_offered_in_objects(blueprint: Path) -> None:
    """`kafka.bootstrap.servers` is also an object in an object."""
    assert "kafka.bootstrap.servers" in offered(blueprint, archive="to = kafka, options { |")
    assert {*offered(blueprint, archive="to = kafka, options { kafka { |")} == {"bootstrap.servers"}
    assert {*offered(blueprint, archive="to = kafka, options.kafka.bootstrap.|")} == {"servers"}


def test_every_triggerer_is_offered_with_its_configuration(blueprint: Path) -> None:
    """Each option of each triggerer, with its description."""
    assert {*offered(blueprint, orders="discovery { |")} == {"triggerer", "config"}
    assert {*offered(blueprint, orders="discovery { triggerer = |")} == {*TRIGGERERS}
    for name in TRIGGERERS:
        options = options_of(make_triggerer(name))
        found = offered(blueprint, orders=f"discovery {{ triggerer = {name}, config {{ |")
        assert {key: proposal.doc for key, proposal in found.items()} == {
            option.name: option.description for option in options
        }
        assert {key for key, proposal in found.items() if proposal.first} == {
            option.name for option in options if option.required
        }


def test_the_options_of_a_triggerer_of_the_project_are_offered(blueprint: Path) -> None:
    """It declares them as the triggerers of Streamlets do."""
    found = offered(blueprint, orders="discovery { triggerer = shop.Bell, config { |")
    assert {key: (proposal.doc, proposal.detail) for key, proposal in found.items()} == {
        "tone": ("how it sounds", "string, default: a")
    }


def test_every_codec_is_offered_with_its_options(blueprint: Path) -> None:
    """For the files that a spout delivers."""
    (codecs,) = codec_keys(None)
    assert {*offered(blueprint, feed="codec = |")} == {value.text for value in codecs.values} >= {"csv", "avro"}
    for codec in codecs.values:
        found = offered(blueprint, feed=f"codec = {codec.text}, codec-options {{ |")
        assert {*found} == {key.path[1] for key in codec_keys(codec.text) if len(key.path) > 1}


def test_every_class_of_the_framework_that_can_be_named_is_offered(blueprint: Path) -> None:
    """Those of the package that the catalog describes; abstract ones are not offered."""
    requests = (StreamletRequest("", f"streamlets.{name}", str(blueprint.parent)) for name in streamlets.__all__)
    catalog = ProjectCatalog()
    described = {r.class_name for r in requests if not isinstance(catalog.describe(r), LoadFailure)}
    found = {*offered(blueprint, settings="blueprint.streamlets.more.class = |")}
    assert {name for name in found if name.startswith("streamlets.")} == described >= {"streamlets.Spout"}
    assert "shop.Orders" in found


def test_settings_of_ports_offer_their_columns(blueprint: Path) -> None:
    """By which records belong together, and by which doubles are recognized."""
    outlet, inlet = "orders.outlets.out", "archive.inlets.in.deduplicate"
    for setting in (f"{outlet}.partition-by = [", f"{inlet}.keys = [id, ", f"{inlet}.watermark = "):
        assert {*offered(blueprint, settings=f"flow.channel = kafka\nflow.streamlets.{setting}|")} == COLUMNS


def test_channels_are_offered(blueprint: Path) -> None:
    """For the application and for a topic."""
    assert {"delta", "kafka"} <= {*offered(blueprint, settings="flow.channel = |")}
    assert {"delta", "kafka"} <= {*offered(blueprint, settings="flow.topics.orders.channel = |")}


def test_hover_shows_the_sink_and_its_options(blueprint: Path) -> None:
    """The description of the option, its type and default, and that of the value."""
    text = BLUEPRINT.format(
        orders="discovery { triggerer = cron, config.time-zone = UTC }", feed="cmd = [true]",
        files="from = csv, options { path = data, null-value = NULL }",
        archive="to = parquet, options { path = out, existing = append }", settings="",
    )  # fmt: skip
    blueprint.write_text(text)
    application = OpenApplication(blueprint)
    verification = application.verify({})
    draft = verification.draft
    assert draft is not None

    def hover(word: str) -> str:
        line = next(number for number, line in enumerate(text.split("\n"), 1) if word in line)
        place = Place(blueprint, line, text.split("\n")[line - 1].index(word) + 1)
        shown = hover_at(draft, verification.sources, place, application.known_keys)
        assert shown is not None
        return shown[0]

    assert "`parquet`: A directory of Parquet files." in hover("parquet")
    assert "what happens to files that this sink wrote with an earlier checkpoint\n\nstring, default: fail" in hover(
        "existing"
    )
    assert "a name such as `Europe/Oslo`\n\nstring, default: UTC" in hover("time-zone")
    assert "cron expression" in hover("cron")
    assert "CSV files, as RFC 4180 describes them." in hover("csv")
    assert "the string that is null" in hover("null-value")
