"""Settings that channels contribute: checked, typed in the plan, shown by `flow config`, and masked where secret."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from blueprint.catalog import ChannelTraits, TopicProblem, TopicSettings
from blueprint.comparison import describe_plan, to_json
from blueprint.diagnostics import Diagnostic
from blueprint.hocon import parse_text, resolve
from blueprint.hocon.values import ObjectValue
from blueprint.plan import ApplicationPlan, TopicPlan
from blueprint.quantities import duration
from blueprint.setting import Scope, Setting, tree_of
from blueprint.setting_types import BOOLEAN, DURATION, OPTIONS, POSITIVE, STRING
from blueprint.settings.secret_sources import secrets_in, secrets_of
from blueprint.settings.secrets import Secret
from blueprint.settings.setting_sources import setting_defaults, setting_sources
from blueprint.verification.verify import Verification, verify
from streamlets.channels.delta.type import DeltaChannelType
from tests.blueprint.paper import PaperCatalog, record, streamlet

DEPTH = Setting("depth", POSITIVE, "How many records the drum holds.", "8", scope=Scope.TOPIC)
LID = Setting("lid.closed", BOOLEAN, "Whether the drum has a lid.", "true", scope=Scope.TOPIC)
RIVETS = Setting("topic.rivets", POSITIVE, "How many rivets close it.", scope=Scope.TOPIC)
CODE = Setting("lock.code", STRING, "The code of the lock.", scope=Scope.TOPIC, secret=True)
STAMPS = Setting("stamps", OPTIONS, "What is written on the drum.", scope=Scope.TOPIC)
HAND = Setting("hand", STRING, "The hand that opens it.", scope=Scope.INLET)
SEAL = Setting("seal", STRING, "What closes a drum.", scope=Scope.OUTLET, secret=True)
GATE = Setting("yards.<name>.gate", STRING, "What opens the gate of a yard.", secret=True)
FOOT = Setting("foot", STRING, "The foot that closes it.", scope=Scope.OUTLET)
YARD = Setting("yards.<name>.address", STRING, "Where a yard is.")
PATIENCE = Setting("patience", DURATION, "How long to wait for a drum.", "5 seconds")


def problems(topic: TopicSettings) -> Iterator[TopicProblem]:
    """Yield a problem of deep drums without a lid, and one of yards without a street."""
    if DEPTH.of(topic.options) > 100 and not LID.of(topic.options):
        yield TopicProblem("topic-settings-contradict", ("depth",), "a deep drum needs a lid", about="key")
    yards = topic.channel_options.get("yards", {})
    assert isinstance(yards, Mapping)
    for name, yard in yards.items():
        if "street" not in yard["address"]:
            path = ("drum", "yards", name, "address")
            yield TopicProblem("topic-settings-contradict", path, "a yard is in a street", help=("add `street`",))


def location(topic: TopicSettings) -> str:
    """Return the number of stamps, for want of anything else."""
    return "stamped" if "stamps" in topic.options else ""


DRUM = ChannelTraits(
    name="drum",
    real_time=False,
    settings=(DEPTH, LID, RIVETS, CODE, STAMPS, HAND, FOOT, SEAL, YARD, GATE, PATIENCE),
    location=location,
    problems=problems,
)
RECORD = record("Reading", src="string")


class Yard(PaperCatalog):
    """A catalog with a source and a sink of records, and the channel `drum` next to `delta`."""

    def __init__(self) -> None:
        super().__init__(
            streamlet("app.Source", outlets={"out": RECORD}, on_invalid="dead-letters"),
            streamlet("app.Sink", inlets={"in": RECORD}, line=30),
        )

    def channels(self) -> Mapping[str, ChannelTraits]:
        """Return both channels."""
        return {"delta": DeltaChannelType.traits, "drum": DRUM}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(
    settings: str = "", topic: str = "channel = drum", environment: Mapping[str, str] | None = None
) -> Verification:
    """Verify an application of one topic with these settings."""
    Path("blueprint.conf").write_text(
        "blueprint {\n  streamlets { source = app.Source, sink = app.Sink }\n"
        f"  topics {{ readings {{ producers = [source.out], consumers = [sink.in], {topic} }} }}\n}}\n{settings}\n"
    )
    return verify("blueprint.conf", catalog=Yard(), environment=environment or {}, working_directory=Path.cwd())


def findings(settings: str = "", topic: str = "channel = drum") -> list[tuple[str, str]]:
    """Return code and headline of all findings."""
    return [(finding.code, finding.headline) for finding in verified(settings, topic).diagnostics]


def plan_of(verification: Verification) -> ApplicationPlan:
    """Return the plan, which must exist."""
    assert verification.plan is not None, verification.diagnostics
    return verification.plan


def the_topic(settings: str = "", topic: str = "channel = drum") -> TopicPlan:
    """Return the plan of the topic."""
    return plan_of(verified(settings, topic)).topic("readings")


def test_the_plan_has_typed_options() -> None:
    """Values have their types; defaults are left to `Setting.of`; a group has what is not defined inside it."""
    topic = the_topic(
        "flow.topics.readings { lid.closed = no, topic.rivets = 3 }",
        "channel = drum, depth = 9, topic { paint.colour = red }, stamps { a.b = 1, depth = two }",
    )
    assert topic.options == {
        "depth": 9, "lid.closed": False, "topic.rivets": 3, "topic": {"paint.colour": "red"},
        "stamps": {"a.b": 1, "depth": "two"},
    }  # fmt: skip
    assert (DEPTH.of(topic.options), DEPTH.of({}), RIVETS.of({})) == (9, 8, None)
    assert topic.location == "stamped"
    assert the_topic(topic="channel = drum, depth = 8").options == {}, "the default changes nothing"


def test_settings_of_ports_and_of_the_application() -> None:
    """An inlet, an outlet and the application have settings for a channel, too; names of the user are keys."""
    plan = plan_of(
        verified(
            "flow.streamlets { sink.inlets.in.hand = left, source.outlets.out.foot = right }\n"
            'flow.drum { patience = 1 minute, yards.north.address = "street 1", yards.south.address = "street 2" }'
        )
    )
    (inlet,), (outlet,) = plan.streamlet("sink").inlets, plan.streamlet("source").outlets
    assert (inlet.options, outlet.options) == ({"hand": "left"}, {"foot": "right"})
    assert plan.topic("readings").channel_options == {
        "patience": duration("1 minute"), "yards": {"north": {"address": "street 1"}, "south": {"address": "street 2"}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "topic", "headline"),
    [
        ("", "channel = drum, dept = 9", "`topics.readings` has no setting `dept`"),
        ("", "channel = drum, depth = deep", "`topics.readings.depth` must be a whole number from 1"),
        ("", "channel = drum, topic.rivet = 9", "`topics.readings.topic` has no setting `rivet`"),
        ("", "channel = drum, stamps = 9", "`topics.readings.stamps` must be an object of single values"),
        ("", "channel = delta, dept = 9", "`topics.readings` has no setting `dept`"),
        ("flow.drum.patiense = 1 s", "channel = drum", "`drum` has no setting `patiense`"),
        ("flow.drum.patience = soon", "channel = delta", "`drum.patience` must be a duration such as `5 seconds`"),
        ("flow.drum.yards.north.adress = x", "channel = drum", "`drum.yards.north` has no setting `adress`"),
        ("flow.barrel.patience = 1 s", "channel = drum", "`flow` has no setting `barrel`"),
        ("flow.streamlets.sink.inlets.in.foot = x", "channel = drum", "`streamlets.sink.inlets.in` has no setting"),
        ("flow.streamlets.sink.inlets.in.hand = x", "channel = delta", "`streamlets.sink.inlets.in` has no setting"),
    ],
)  # fmt: skip
def test_settings_of_channels_are_checked(settings: str, topic: str, headline: str) -> None:
    """Unknown settings and wrong types are findings like those of the language's own settings."""
    (finding,) = findings(settings, topic)
    assert finding[0] in ("unknown-setting", "setting-type")
    assert finding[1].startswith(headline)


def test_a_misspelt_setting_of_a_channel_gets_a_suggestion() -> None:
    """The suggestion knows the settings of the topic's channel."""
    (finding,) = verified(topic="channel = drum, dept = 9").diagnostics
    assert finding.help == ("did you mean `depth`?",)
    assert finding.fix is not None


def test_settings_of_another_channel_have_no_effect() -> None:
    """One setting moves a topic to another channel: its settings for the other channel may stay, if they are valid."""
    topic = the_topic(topic="channel = delta, depth = 9, retention.time = 1 day")
    assert topic.options == {"retention.time": duration("1 day")}
    assert findings(topic="channel = delta, depth = deep") == [
        ("setting-type", "`topics.readings.depth` must be a whole number from 1")
    ]


def test_one_setting_moves_all_topics_to_another_channel() -> None:
    """`flow.channel` is the channel of topics without one of their own, dead letters included."""
    plan = plan_of(verified("flow.channel = drum\nflow.topics.readings.depth = 9", topic="managed = true"))
    assert {topic.id: topic.channel for topic in plan.topics} == {"readings": "drum", "dead-letters.source": "drum"}
    assert plan.topic("readings").options == {"depth": 9}


def test_dead_letters_are_on_the_channel_of_the_outlets() -> None:
    """A query writes to one channel, so another one is an error."""
    plan = plan_of(verified('flow.topics."dead-letters.source".depth = 3'))
    assert plan.topic("dead-letters.source").channel == "drum"
    assert plan.topic("dead-letters.source").options == {"depth": 3}
    assert [code for code, _ in findings('flow.topics."dead-letters.source".channel = delta')] == ["query-channels"]


def test_problems_of_a_channel_are_findings_at_their_places() -> None:
    """A problem is at its setting, wherever it was set, and reported once for all topics of the application."""
    (deep,) = verified("flow.topics.readings.depth = 101", "channel = drum, lid.closed = no").diagnostics
    assert (deep.headline, place(deep)) == ("a deep drum needs a lid", (5, 22))
    (yard,) = verified("flow.drum.yards.north.address = nowhere").diagnostics
    assert (yard.headline, yard.help, place(yard)) == ("a yard is in a street", ("add `street`",), (5, 33))
    assert [code for code, _ in findings("flow.drum.yards.n.address = x, flow.drum.patience = x")] == ["setting-type"]


def place(finding: Diagnostic) -> tuple[int, int] | None:
    """Return line and column of a finding."""
    return (finding.primary.span.line, finding.primary.span.column) if finding.primary is not None else None


def test_a_secret_of_a_channel_is_shown_nowhere() -> None:
    """Neither the descriptor nor `flow config`, an excerpt or the `repr` of the plan has it."""
    verification = verified("flow.topics.readings.lock.code = tulip-7\nflow.retry.min-backoff = tulip-7")
    assert {finding.code for finding in verification.diagnostics} == {"setting-type"}
    assert "tulip-7" not in str(verification.diagnostics)
    assert "tulip-7" not in (verification.sources.shown("blueprint.conf", 5) or "")
    verification = verified("flow.topics.readings.lock.code = tulip-7")
    plan = plan_of(verification)
    assert plan.topic("readings").options == {"lock.code": Secret("tulip-7")}
    assert "tulip-7" not in repr(plan) + to_json(describe_plan(plan))
    assert '"lock.code": "(secret)"' in to_json(describe_plan(plan))
    assert secrets_of(plan).masked("the code is tulip-7") == "the code is (secret)"
    settings = verification.settings
    assert isinstance(settings, ObjectValue)
    by_key = setting_sources(settings, verification.known, {}, verification.sources)
    assert [source.text for source in by_key["flow.topics.readings.lock.code"]] == ["(secret)"]


def test_secrets_of_every_scope_are_in_the_plan() -> None:
    """Those of a port, below a name of the user, and of variables, whatever the name of the setting that uses them."""
    settings = (
        "flow.streamlets.source.outlets.out.seal = wax-1\n"
        'flow.drum.yards.north { gate = oak-2, address = "street 1" }\n'
        "flow.topics.readings.stamps.a = ${YARD_PASSWORD}"
    )
    plan = plan_of(verified(settings, environment={"YARD_PASSWORD": "ash-3", "YARD_TOKEN": "elm-4"}))
    assert secrets_of(plan).values == {"wax-1", "oak-2", "ash-3"}
    assert "ash-3" not in repr(plan.streamlets[0]) + to_json(describe_plan(plan))
    assert secrets_of(pickle.loads(pickle.dumps(plan))).values == {"wax-1", "oak-2", "ash-3"}


def test_a_setting_of_every_application_can_be_a_secret() -> None:
    """It is found by its declaration."""
    tree, _ = resolve([parse_text("flow.motto = tulip-7", "a.conf")], {})
    known = tree_of([Setting("motto", STRING, "What the application says.", secret=True)])
    flow = tree.get("flow")
    assert isinstance(flow, ObjectValue)
    assert secrets_in(tree, flow, known).values == {"tulip-7"}


def test_defaults_of_settings_of_channels() -> None:
    """`flow config --explain` knows the settings of the topic's channel, and those of the application for it."""
    known = verified().known
    (depth,) = setting_defaults("flow.topics.readings.depth", known).values()
    assert (depth[0].text, depth[0].note) == ("8", "default. How many records the drum holds.")
    assert list(setting_defaults("flow.drum", known)) == ["flow.drum.patience"]
    assert setting_defaults("flow.topics.readings.retention.time", known) == {}
