"""The drawing marks exactly the streamlets that have errors, whatever the names of streamlets and topics are.

A mutation knows which streamlets it breaks. Topics have the names of streamlets, mostly of other ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from blueprint.catalog import ParameterDescriptor, ParameterType
from blueprint.verification.verify import verify
from tests.blueprint.paper import PaperCatalog, at, record, streamlet

READING = record("Reading", src="string", value="double")
OTHER = record("Reading", src="string", value="string")
PARAMETERS = (
    ParameterDescriptor(key="rate", description="", type=ParameterType.INTEGER, default="10", declared=at(3)),
    ParameterDescriptor(key="station", description="", type=ParameterType.STRING, default=None, declared=at(4)),
)
CATALOG = PaperCatalog(
    streamlet("app.Source", outlets={"out": READING}, parameters=PARAMETERS, line=10),
    streamlet("app.Step", inlets={"in": READING}, outlets={"out": READING}, parameters=PARAMETERS, line=30),
    streamlet("app.Sink", inlets={"in": READING}, parameters=PARAMETERS, line=50),
    streamlet("app.OtherStep", inlets={"in": OTHER}, outlets={"out": READING}, parameters=PARAMETERS, line=70),
    streamlet("app.OtherSink", inlets={"in": OTHER}, parameters=PARAMETERS, line=90),
)
NAMES = ("radar", "rain", "wind", "east", "west", "means", "archive", "alerts", "in", "out", "topics", "delta")
BLUEPRINTS, PARTS = 200, 4


@dataclass
class Application:
    """A chain of streamlets: every one writes to the topic that the next one reads.

    Arguments:
        refs: the names of the streamlets, in order.
        topics: the ids of the topics, in order.
    """

    refs: list[str]
    topics: list[str]
    classes: dict[str, str] = field(init=False)
    blocks: dict[str, list[str]] = field(init=False)
    producers: dict[str, list[str]] = field(init=False)
    consumers: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        """Connect the streamlets."""
        steps = dict.fromkeys(self.refs[1:-1], "app.Step")
        self.classes = {self.refs[0]: "app.Source", **steps, self.refs[-1]: "app.Sink"}
        self.blocks = {ref: ["parameters { station = OSL }"] for ref in self.refs}
        self.producers = {id: [f"{ref}.out"] for id, ref in zip(self.topics, self.refs[:-1], strict=True)}
        self.consumers = {id: [f"{ref}.in"] for id, ref in zip(self.topics, self.refs[1:], strict=True)}

    @property
    def text(self) -> str:
        """The blueprint."""
        streamlets = [
            f"{ref} {{ {', '.join([f'class = {self.classes[ref]}', *self.blocks[ref]])} }}" for ref in self.refs
        ]
        topics = [
            f"{id} {{ producers = [{', '.join(self.producers[id])}], consumers = [{', '.join(self.consumers[id])}] }}"
            for id in self.topics
        ]
        return "\n".join(["blueprint {", "streamlets {", *streamlets, "}", "topics {", *topics, "}", "}"])


def unknown_class(application: Application, ref: str) -> set[str]:
    """Name a class that does not exist."""
    application.classes[ref] = "app.Nothing"
    return {ref}


def missing_parameter(application: Application, ref: str) -> set[str]:
    """Omit the value of a parameter without a default."""
    application.blocks[ref].clear()
    return {ref}


def unknown_parameter(application: Application, ref: str) -> set[str]:
    """Set a parameter that does not exist."""
    application.blocks[ref].append("parameters.altitude = 3")
    return {ref}


def invalid_parameter(application: Application, ref: str) -> set[str]:
    """Give a parameter a value of the wrong type."""
    application.blocks[ref].append("parameters.rate = often")
    return {ref}


def unknown_setting(application: Application, ref: str) -> set[str]:
    """Set something that no streamlet has."""
    application.blocks[ref].append("colour = red")
    return {ref}


def invalid_setting(application: Application, ref: str) -> set[str]:
    """Give a setting a value of the wrong type."""
    application.blocks[ref].append("retry.max-attempts = many")
    return {ref}


def unknown_volume_mount(application: Application, ref: str) -> set[str]:
    """Set the directory of a volume mount that does not exist."""
    application.blocks[ref].append("volume-mounts { disk = here }")
    return {ref}


def misspelt_port(application: Application, ref: str) -> set[str]:
    """Misspell the port in a path."""
    paths = next(paths for paths in _lists(application) if _names(paths, ref))
    paths[0] += "pp"
    return {ref}


def missing_port(application: Application, ref: str) -> set[str]:
    """Omit the port in a path."""
    next(paths for paths in _lists(application) if _names(paths, ref))[0] = ref
    return {ref}


def unconnected(application: Application, ref: str) -> set[str]:
    """Connect a port to no topic."""
    next(paths for paths in _lists(application) if _names(paths, ref)).clear()
    return {ref}


def listed_twice(application: Application, ref: str) -> set[str]:
    """Connect a port twice."""
    paths = next(paths for paths in _lists(application) if _names(paths, ref))
    paths.append(paths[0])
    return {ref}


def other_schema(application: Application, ref: str) -> set[str]:
    """Let a streamlet read something else than the one before it writes."""
    index = application.refs.index(ref)
    if index == 0:
        return set()
    application.classes[ref] = "app.OtherSink" if index == len(application.refs) - 1 else "app.OtherStep"
    return {application.refs[index - 1], ref}


MUTATIONS: tuple[Callable[[Application, str], set[str]], ...] = (
    unknown_class, missing_parameter, unknown_parameter, invalid_parameter, unknown_setting, invalid_setting,
    unknown_volume_mount, misspelt_port, missing_port, unconnected, listed_twice, other_schema,
)  # fmt: skip


def _lists(application: Application) -> list[list[str]]:
    return [*application.producers.values(), *application.consumers.values()]


def _names(paths: list[str], ref: str) -> bool:
    return any(path.startswith(f"{ref}.") for path in paths)


@pytest.mark.parametrize("part", range(PARTS))
def test_exactly_the_streamlets_with_errors_are_marked(part: int, tmp_path: Path) -> None:
    """Each mutation marks the streamlets that it breaks, and no other streamlet or topic."""
    chance, blueprint = random.Random(part), tmp_path / "blueprint.conf"
    for number in range(BLUEPRINTS // PARTS):
        refs = chance.sample(NAMES, chance.randint(3, 6))
        application = Application(refs, chance.sample(refs, len(refs) - 1))
        mutate = MUTATIONS[number % len(MUTATIONS)]
        broken = mutate(application, chance.choice(refs))
        blueprint.write_text(application.text)
        verification = verify(blueprint, catalog=CATALOG, environment={}, working_directory=tmp_path)
        marked = {(node.kind, node.name) for node in verification.picture.nodes if node.faulty}
        assert marked == {("streamlet", ref) for ref in broken}, f"{mutate.__name__}: {application.text}"


def test_all_streamlets_that_share_a_mistake_are_marked(tmp_path: Path) -> None:
    """A mistake in a class, or in a value that blocks share, is one finding about all of them."""
    text = """
    blueprint {
      streamlets {
        one { class = app.Source } ${shared}, two { class = app.Source } ${shared}
        three { class = app.Broken, }, four = app.Broken, five = app.Sink
      }
      topics.all { producers = [one.out, two.out], consumers = [five.in] }
    }
    shared { parameters { station = OSL }, retry.min-backoff = soon }
    flow.streamlets.five.parameters.station = OSL
    """
    broken = streamlet("app.Broken", outlets={"Not_Valid": READING}, line=110)
    catalog = PaperCatalog(*CATALOG.known.values(), broken)  # type: ignore[arg-type]
    (tmp_path / "blueprint.conf").write_text(text)
    verification = verify("blueprint.conf", catalog=catalog, environment={}, working_directory=tmp_path)
    concerned = [(finding.code, finding.streamlets) for finding in verification.diagnostics]
    assert concerned.count(("setting-type", ("one", "two"))) == 1
    assert concerned.count(("port-name", ("three", "four"))) == 1
