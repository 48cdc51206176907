"""Every kind of change and the class it is of: the table of `docs/upgrades.md`, row by row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace

import pytest

from blueprint.comparison import (
    ApplicationDescriptor,
    Change,
    ChangeClass,
    DescribedInlet,
    DescribedOutlet,
    DescribedQuery,
    DescribedStreamlet,
    DescribedTopic,
    compare,
    worst,
)
from blueprint.comparison.describing import OFFERING, OPENING, SUPERVISION, changed_settings
from blueprint.core_settings import ApplicationSettings, InletSettings, OutletSettings, StreamletSettings
from tests.blueprint.comparison.described import (
    READING,
    application,
    contract,
    inlet,
    outlet,
    renamed,
    unknown_queries,
    with_streamlet,
    with_topics,
    without,
)

APP = application()
WIDER = contract(src="string", value="long")
OPTIONAL = contract(src="string", value="int", unit=(["null", "string"], None))
REQUIRED = contract(src="string", value="int", unit="string")
LESS = contract(src="string")

Changed = Callable[[], tuple[ApplicationDescriptor, ApplicationDescriptor]]


def same_but(ref: str, **changes: object) -> Changed:
    """Return the application, and it with something else in one streamlet."""
    return lambda: (APP, with_streamlet(APP, ref, **changes))


def both(old: ApplicationDescriptor, new: ApplicationDescriptor) -> Changed:
    """Two applications."""
    return lambda: (old, new)


STATELESS = with_streamlet(APP, "mean", queries={"out": DescribedQuery(("in",))})
UNKNOWN = unknown_queries(APP)
SECOND = {**APP.streamlets["mean"].inlets, "more": DescribedInlet("readings", READING)}
TWO_IN = with_streamlet(STATELESS, "mean", inlets=SECOND)
OUTLETS = {**APP.streamlets["mean"].outlets, "late": DescribedOutlet("means", READING)}
JOINT = with_streamlet(APP, "mean", outlets=OUTLETS, queries={"late.out": DescribedQuery(("in",))})
THIRD = {**OUTLETS, "dull": DescribedOutlet("means", READING)}
COPY = DescribedStreamlet(class_name="app.Copy", inlets={"in": DescribedInlet("readings", READING)})
OTHERS = with_topics(without(APP, "gauges"), readings=DescribedTopic("readings", managed=False))
SINK = with_streamlet(UNKNOWN, "archive", class_name="streamlets.Sink")

CASES: list[tuple[str, Changed, str, str, tuple[str, ...]]] = [
    ("application renamed", both(APP, replace(APP, application="other")), "change-application", "state-loss",
     ("archive.files", "gauges.out", "mean.out")),
    ("streamlet added", both(APP, application(copy=COPY)), "change-streamlet-added", "safe", ()),
    ("streamlet added that cannot read what lies there",
     both(with_topics(APP, readings=DescribedTopic("readings", written=(LESS,))), application(copy=COPY)),
     "change-streamlet-added", "breaking", ()),
    ("the same, begun at the latest record",
     both(with_topics(APP, readings=DescribedTopic("readings", written=(LESS,))),
          application(copy=replace(COPY, inlets={"in": DescribedInlet("readings", READING, "latest")}))),
     "change-streamlet-added", "safe", ()),
    ("streamlet added on a topic that others make",
     both(APP, with_topics(application(copy=replace(COPY, inlets={"in": DescribedInlet("outer", READING)})),
                           outer=DescribedTopic("outer", managed=False))),
     "change-streamlet-added", "writers-first", ()),
    ("streamlet removed", both(APP, without(APP, "archive")), "change-streamlet-removed", "drain", ()),
    ("stateful streamlet removed", both(application(copy=COPY), replace(
        without(application(copy=COPY), "mean"), topics=APP.topics)), "change-streamlet-removed", "state-loss",
     ("mean.out",)),
    ("ingress removed", both(APP, without(APP, "gauges")), "change-streamlet-removed", "safe", ()),
    ("streamlet renamed", both(APP, renamed(APP, "mean", "average")), "change-streamlet-renamed", "state-loss",
     ("mean.out",)),
    ("class changed, stateless", same_but("archive", class_name="app.Store"), "change-class", "drain", ()),
    ("class changed, stateful", same_but("mean", class_name="app.Median"), "change-class", "state-loss",
     ("mean.out",)),
    ("class changed, unknown", both(UNKNOWN, with_streamlet(UNKNOWN, "archive", class_name="app.Store")),
     "change-class", "state-loss", ("archive",)),
    ("class changed, a sink of the framework", both(SINK, UNKNOWN), "change-class", "drain", ()),
    ("class moved", same_but("mean", class_name="app.means.Mean"), "change-class", "safe", ()),
    ("inlet added, stateless", both(STATELESS, TWO_IN), "change-port-added", "safe", ()),
    ("inlet added, stateful", both(APP, with_streamlet(APP, "mean", inlets=SECOND)), "change-port-added",
     "state-loss", ("mean.out",)),
    ("inlet added without source evolution",
     both(with_streamlet(STATELESS, "mean", source_evolution=False),
          with_streamlet(TWO_IN, "mean", source_evolution=False)), "change-port-added", "state-loss", ("mean.out",)),
    ("inlet removed, stateless", both(TWO_IN, STATELESS), "change-port-removed", "drain", ()),
    ("inlet removed, unknown", both(unknown_queries(TWO_IN), UNKNOWN), "change-port-removed", "state-loss",
     ("mean",)),
    ("inlet renamed", same_but("archive", inlets={"rows": DescribedInlet("means", READING)}), "change-port-renamed",
     "state-loss", ("archive.files",)),
    ("inlet rewired", same_but("archive", inlets={"in": DescribedInlet("readings", READING)}),
     "change-inlet-rewired", "state-loss", ("archive.files",)),
    ("inlet rewired to what it cannot read",
     both(with_topics(APP, readings=DescribedTopic("readings", written=(LESS,))),
          with_streamlet(APP, "archive", inlets={"in": DescribedInlet("readings", READING)})),
     "change-inlet-rewired", "breaking", ("archive.files",)),
    ("outlet added", same_but("mean", outlets=OUTLETS), "change-port-added", "safe", ()),
    ("outlet added to a joint query", both(JOINT, with_streamlet(JOINT, "mean", outlets=THIRD)),
     "change-port-added", "state-loss", ("mean.late.out",)),
    ("outlet removed, stateless", both(with_streamlet(STATELESS, "mean", outlets=OUTLETS), STATELESS),
     "change-port-removed", "drain", ()),
    ("outlet removed, its query stateful",
     both(with_streamlet(APP, "mean", outlets=OUTLETS, queries={"late": DescribedQuery(("in",), ("dedupe",))}), APP),
     "change-port-removed", "state-loss", ("mean.late",)),
    ("outlet of an ingress removed",
     both(with_streamlet(APP, "gauges", outlets={**APP.streamlets["gauges"].outlets,
                                                 "more": DescribedOutlet("readings", READING)}), APP),
     "change-port-removed", "safe", ()),
    ("outlet renamed", same_but("mean", outlets={"means": DescribedOutlet("means", READING)}),
     "change-port-renamed", "state-loss", ("mean.out",)),
    ("outlet renamed that names no query",
     both(with_streamlet(APP, "mean", queries={"own": DescribedQuery(("in",))}),
          with_streamlet(APP, "mean", outlets={"means": DescribedOutlet("means", READING)})),
     "change-port-renamed", "safe", ()),
    ("outlet rewired", same_but("mean", outlets={"out": DescribedOutlet("readings", READING)}),
     "change-outlet-rewired", "safe", ()),
    ("topic in another place", both(APP, with_topics(APP, means=DescribedTopic("other"))), "change-topic-moved",
     "state-loss", ("archive.files",)),
    ("topic on another channel", both(APP, with_topics(APP, means=DescribedTopic("means", "kafka"))),
     "change-topic-moved", "state-loss", ("archive.files",)),
    ("fewer partitions",
     both(with_topics(APP, means=DescribedTopic("means", settings={"topic.partitions": 8})),
          with_topics(APP, means=DescribedTopic("means", settings={"topic.partitions": 4}))),
     "change-topic-settings", "breaking", ()),
    ("more partitions",
     both(with_topics(APP, means=DescribedTopic("means", settings={"topic.partitions": 4})),
          with_topics(APP, means=DescribedTopic("means", settings={"topic.partitions": 8}))),
     "change-topic-settings", "safe", ()),
    ("somebody else makes the topic", both(APP, with_topics(APP, means=DescribedTopic("means", managed=False))),
     "change-topic-settings", "safe", ()),
    ("a reader wants more, with a default", same_but("archive", inlets=inlet(APP, "archive", "in", contract=OPTIONAL)),
     "change-schema", "safe", ()),
    ("a reader wants what old records lack", same_but("archive", inlets=inlet(APP, "archive", "in", contract=REQUIRED)),
     "change-schema", "breaking", ()),
    ("a reader wants what records of a writer before the last lack",
     both(with_topics(APP, means=DescribedTopic("means", written=(LESS,))),
          with_streamlet(APP, "archive", inlets=inlet(APP, "archive", "in", contract=WIDER))),
     "change-schema", "breaking", ()),
    ("another type in a stateless query", same_but("archive", inlets=inlet(APP, "archive", "in", contract=WIDER)),
     "change-schema", "safe", ()),
    ("another type in a stateful query", same_but("mean", inlets=inlet(APP, "mean", "in", contract=WIDER)),
     "change-schema", "state-loss", ("mean.out",)),
    ("nullable in a stateful query",
     same_but("mean", inlets=inlet(APP, "mean", "in", contract=contract(src="string", value=["null", "int"]))),
     "change-schema", "safe", ()),
    ("another meaning of the same bytes",
     same_but("archive", inlets=inlet(APP, "archive", "in", contract=contract(
         src="string", value={"type": "int", "logicalType": "date"}))), "change-schema", "drain", ()),
    ("a reader of what others write wants more",
     both(OTHERS, with_streamlet(OTHERS, "mean", inlets=inlet(APP, "mean", "in", contract=REQUIRED))),
     "change-schema", "writers-first", ()),
    ("a writer gives more", same_but("mean", outlets=outlet(APP, "mean", "out", contract=OPTIONAL)),
     "change-schema", "safe", ()),
    ("a writer gives what readers before cannot read",
     same_but("mean", outlets=outlet(APP, "mean", "out", contract=WIDER)), "change-schema", "readers-first", ()),
    ("a writer that only others read gives less",
     both(without(APP, "archive"), with_streamlet(
         without(APP, "archive"), "mean", outlets=outlet(APP, "mean", "out", contract=LESS))),
     "change-schema", "readers-first", ()),
    ("source evolution", same_but("mean", source_evolution=False), "change-source-evolution", "state-loss",
     ("mean.out",)),
    ("parameter", same_but("mean", parameters={"window": "2 minutes"}), "change-parameter", "unknown", ()),
    ("trigger", same_but("mean", trigger="available-now"), "change-trigger", "safe", ()),
    ("trigger of a query", same_but("mean", triggers={"out": "available-now"}), "change-trigger", "safe", ()),
    ("replicas", same_but("mean", replicas=4), "change-replicas", "safe", ()),
    ("supervision", same_but("mean", supervision={"on-stuck": "restart"}), "change-supervision", "safe", ()),
    ("end", same_but("mean", supervision={"end": "when-producers-end"}), "change-supervision", "safe", ()),
    ("sequential", same_but("mean", inlets=inlet(APP, "mean", "in", opening={"sequential": True})),
     "change-port-settings", "safe", ()),
    ("open-timeout of an outlet",
     same_but("mean", outlets=outlet(APP, "mean", "out", opening={"open-timeout": "30 seconds"})),
     "change-port-settings", "safe", ()),
    ("staged", same_but("mean", outlets=outlet(APP, "mean", "out", channel={"staged": True})), "change-port-settings",
     "safe", ()),
    ("exactly once", same_but("mean", outlets=outlet(APP, "mean", "out", channel={"guarantee": "exactly-once"})),
     "change-port-settings", "drain", ()),
    ("at least once", both(
        with_streamlet(APP, "mean", outlets=outlet(APP, "mean", "out", channel={"guarantee": "exactly-once"})), APP),
     "change-port-settings", "safe", ()),
    ("return", same_but("mean", outlets=outlet(APP, "mean", "out", returns="n < 5")), "change-port-settings",
     "new-records", ()),
    ("retry", same_but("mean", retry={"enabled": False}), "change-retry", "safe", ()),
    ("volume mount", same_but("mean", volume_mounts={"data": "data"}), "change-volume-mount", "safe", ()),
    ("shuffle partitions", same_but("mean", spark={"spark.sql.shuffle.partitions": "4"}), "change-spark-setting",
     "safe", ()),
    ("a setting of Spark for all", both(APP, replace(APP, spark={"spark.sql.ansi.enabled": "false"})),
     "change-spark-setting", "unknown", ()),
    ("starting", same_but("mean", inlets=inlet(APP, "mean", "in", starting="latest")), "change-port-settings",
     "safe", ()),
    ("max-records", same_but("mean", inlets=inlet(APP, "mean", "in", max_records=10)), "change-port-settings",
     "safe", ()),
    ("layout", same_but("mean", outlets=outlet(APP, "mean", "out", partition_by=("src",))), "change-port-settings",
     "safe", ()),
    ("broken rows", same_but("mean", outlets=outlet(APP, "mean", "out", on_invalid="dead-letters")),
     "change-port-settings", "safe", ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "code", "needs", "queries"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_change_has_its_class(changed: Changed, code: str, needs: str, queries: tuple[str, ...]) -> None:
    """One change gives one finding, of its code and class, naming the queries that lose something; the queries of the
    newer side are not known."""
    old, new = changed()
    found = compare(old, unknown_queries(new))
    assert [(change.code, change.needs.value, change.queries) for change in found] == [(code, needs, queries)]


def test_values_are_shown_as_a_blueprint_has_them() -> None:
    """Lists, objects and booleans, too."""
    old = with_streamlet(APP, "mean", parameters={"cmd": ["sh", "-c", "x"], "env": {}, "strict": False})
    new = with_streamlet(APP, "mean", parameters={"cmd": ["sh", "é"], "env": {"A": "b"}, "strict": True})
    assert [change.headline for change in compare(old, new)] == [
        'the parameter `cmd` of `mean` is `["sh", "é"]`, was `["sh", "-c", "x"]`',
        'the parameter `env` of `mean` is `{"A": "b"}`, was `{}`',
        "the parameter `strict` of `mean` is `true`, was `false`",
    ]


def queries(of: ApplicationDescriptor = APP, **queries: DescribedQuery) -> ApplicationDescriptor:
    """Return the application with other queries in `mean`; `_` in their names stands for `.`."""
    return with_streamlet(of, "mean", queries={name.replace("_", "."): query for name, query in queries.items()})


PLAIN, SUMS = DescribedQuery(("in",)), DescribedQuery(("in",), ("stateStoreSave",))
MORE = with_streamlet(APP, "mean", inlets=SECOND)
RENAMED = with_streamlet(APP, "mean", inlets={"rows": DescribedInlet("readings", READING)})
OTHER_OUT = with_streamlet(APP, "mean", outlets={"means": DescribedOutlet("means", READING)})

LOGIC_CASES: list[tuple[str, Changed, list[tuple[str, str, tuple[str, ...]]]]] = [
    ("nothing", both(APP, APP), []),
    ("query added", both(APP, queries(out=SUMS, peek=PLAIN)), [("change-query-added", "safe", ())]),
    ("query removed", both(queries(out=SUMS, peek=PLAIN), APP), [("change-query-removed", "drain", ())]),
    ("query of outside sources removed",
     both(queries(out=SUMS, peek=DescribedQuery(("clock",))), APP), [("change-query-removed", "safe", ())]),
    ("stateful query removed",
     both(queries(out=SUMS, peek=DescribedQuery(("in",), ("dedupe",))), APP),
     [("change-query-removed", "state-loss", ("mean.peek",))]),
    ("query renamed", both(APP, queries(sums=SUMS)), [("change-query-renamed", "state-loss", ("mean.out",))]),
    ("two alike renamed, so that it cannot be reported which is which",
     both(queries(a=PLAIN, b=PLAIN), queries(c=PLAIN, d=PLAIN)),
     [("change-query-removed", "drain", ()), ("change-query-removed", "drain", ()),
      ("change-query-added", "safe", ()), ("change-query-added", "safe", ())]),
    ("another operator", both(APP, queries(out=DescribedQuery(("in",), ("dedupe",)))),
     [("change-query-state", "state-loss", ("mean.out",))]),
    ("state where there was none", both(queries(out=PLAIN), APP),
     [("change-query-state", "state-loss", ("mean.out",))]),
    ("a second source, stateless", both(queries(out=PLAIN), queries(out=DescribedQuery(("clock", "in")))),
     [("change-query-sources", "safe", ())]),
    ("a second source, stateful", both(APP, queries(out=DescribedQuery(("clock", "in"), ("stateStoreSave",)))),
     [("change-query-sources", "state-loss", ("mean.out",))]),
    ("one source less", both(queries(out=DescribedQuery(("clock", "in"))), queries(out=PLAIN)),
     [("change-query-sources", "drain", ())]),
    ("a source renamed",
     both(queries(out=DescribedQuery(("clock", "in"))), queries(out=DescribedQuery(("in", "tick")))),
     [("change-query-sources", "state-loss", ("mean.out",))]),
    ("a new inlet that a stateful query does not read",
     both(APP, queries(MORE, out=SUMS, peek=DescribedQuery(("more",)))),
     [("change-port-added", "safe", ()), ("change-query-added", "safe", ())]),
    ("a new inlet that a stateful query reads",
     both(APP, queries(MORE, out=DescribedQuery(("in", "more"), ("stateStoreSave",)))),
     [("change-port-added", "state-loss", ("mean.out",))]),
    ("an inlet renamed, its source not", both(APP, queries(RENAMED, out=SUMS)), [("change-port-renamed", "safe", ())]),
    ("an inlet renamed with its source",
     both(APP, queries(RENAMED, out=DescribedQuery(("rows",), ("stateStoreSave",)))),
     [("change-port-renamed", "state-loss", ("mean.out",))]),
    ("an outlet renamed, its query not", both(APP, queries(OTHER_OUT, out=SUMS)),
     [("change-port-renamed", "safe", ())]),
    ("an outlet renamed with its query", both(APP, queries(OTHER_OUT, means=SUMS)),
     [("change-port-renamed", "state-loss", ("mean.out",))]),
    ("a further outlet of a joint query",
     both(JOINT, queries(with_streamlet(JOINT, "mean", outlets=THIRD), dull_late_out=PLAIN)),
     [("change-port-added", "state-loss", ("mean.late.out",))]),
    ("a further outlet of a query that keeps its name", both(JOINT, with_streamlet(JOINT, "mean", outlets=THIRD)),
     [("change-port-added", "safe", ())]),
    ("another class, stateless, that calls its query otherwise",
     both(STATELESS, with_streamlet(queries(sums=PLAIN), "mean", class_name="app.Median")),
     [("change-query-renamed", "state-loss", ("mean.out",)), ("change-class", "drain", ())]),
    ("another class, stateful", both(APP, with_streamlet(queries(sums=PLAIN), "mean", class_name="app.Median")),
     [("change-class", "state-loss", ("mean.out",))]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "wanted"), [case[1:] for case in LOGIC_CASES], ids=[case[0] for case in LOGIC_CASES]
)
def test_what_logic_tells_has_its_class(changed: Changed, wanted: list[tuple[str, str, tuple[str, ...]]]) -> None:
    """If both sides have queries, a change of logic is reported, and the worst case is not assumed for ports."""
    assert [(change.code, change.needs.value, change.queries) for change in compare(*changed())] == wanted


def test_every_class_has_an_example() -> None:
    """No class is without an example."""
    assert {case[3] for case in CASES} == {each.value for each in ChangeClass}


def test_a_topic_under_another_id_is_the_same_while_its_place_is() -> None:
    """Readers of a topic whose id changed, but not its name on the channel, continue: nothing is rewired."""
    new = with_streamlet(
        with_streamlet(APP, "mean", outlets={"out": DescribedOutlet("averages", READING)}),
        "archive",
        inlets={"in": DescribedInlet("averages", READING)},
    )
    topics = {"readings": DescribedTopic("readings"), "averages": DescribedTopic("means")}
    assert [(one.code, one.needs.value) for one in compare(APP, replace(new, topics=topics))] == [
        ("change-topic-moved", "safe")
    ]
    topics = {"readings": DescribedTopic("readings"), "averages": DescribedTopic("averages")}
    assert [(one.code, one.needs.value, one.queries) for one in compare(APP, replace(new, topics=topics))] == [
        ("change-topic-moved", "state-loss", ("archive.files",))
    ]


def test_a_pinned_setting_names_the_queries_it_does_not_reach() -> None:
    """A setting stored in a checkpoint does not affect its query, and the change reports it."""
    (pinned,) = compare(*same_but("mean", spark={"spark.sql.shuffle.partitions": "4"})())
    assert "`mean.out`" in pinned.causes[0]
    (free,) = compare(*same_but("mean", spark={"spark.sql.ansi.enabled": "false"})())
    assert free.causes == ()


def test_what_is_not_known_is_said_to_be_so() -> None:
    """A change for which the worst case is assumed names the descriptor that has the answer."""
    new = with_streamlet(UNKNOWN, "archive", class_name="app.Store")
    (change,) = compare(UNKNOWN, new)
    assert any("`flow describe`" in cause for cause in change.causes)


def test_the_worst_comes_first() -> None:
    """Changes are in descending order of class; `worst` is the class of the first."""
    new = with_streamlet(APP, "mean", class_name="app.Median", trigger="available-now")
    found = compare(APP, without(new, "archive"))
    assert [change.needs.value for change in found] == ["state-loss", "drain", "safe"]
    assert worst(found) is ChangeClass.STATE_LOSS
    assert worst(()) is ChangeClass.SAFE
    assert all(isinstance(change, Change) for change in found)


COMPARED = {
    StreamletSettings: {"trigger", "queries", "retry", "spark", "replicas", "source_evolution", *SUPERVISION},
    InletSettings: {"max_records", "starting", *OPENING},
    OutletSettings: {"on_invalid", "extra", "partition_by", *OFFERING},
    ApplicationSettings: {"application", "spark"},
}
"""The settings whose changes have a class. Settings of topics are compared by their keys."""

NOT_COMPARED = {
    StreamletSettings: {
        "group": "which process runs it; records and state do not depend on it",
        "retry_set": "not a setting: which fields of `retry` are set",
    },
    InletSettings: {},
    OutletSettings: {},
    ApplicationSettings: {
        "channel": "the channel of a topic, which is compared",
        "isolation": "which processes run the streamlets; records and state do not depend on it",
        "fuse": "which topics are stored, which each start decides between two complete batches",
        "resources": "what a run creates and deletes, which each start decides",
        "state_access": "who may read the state directory",
        "metrics": "where a run serves its metrics",
        "telemetry": "where a run sends its traces",
        "cluster": "where Spark runs tasks; a checkpoint keeps its number of shuffle partitions",
        "kubernetes": "where a run is, and with how much of a machine",
    },
}
"""The others, and why."""


@pytest.mark.parametrize("kind", COMPARED, ids=lambda kind: kind.__name__)
def test_every_setting_has_a_class_or_a_reason(kind: type) -> None:
    """A new setting is compared, or the table says why not."""
    known = {field.name for field in dataclasses.fields(kind)}
    assert known == COMPARED[kind] | set(NOT_COMPARED[kind])
    assert not COMPARED[kind] & set(NOT_COMPARED[kind])


def test_settings_with_their_default_are_not_described() -> None:
    """Descriptors of before these settings stay equal to those of now."""
    assert changed_settings(StreamletSettings(), SUPERVISION) == {}
    assert changed_settings(InletSettings(sequential=True), OPENING) == {"sequential": True}
