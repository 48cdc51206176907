"""Which topics can be fused, by the plan alone: every condition that forbids it, and the chains of those that can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.catalog import Kind
from blueprint.fusion import Fusion, fusion_of
from blueprint.plan import ApplicationPlan
from blueprint.verification.verify import Verification, verify
from tests.blueprint.paper import PaperCatalog, record, streamlet

READING = record("Reading", src="string", value="double")
NARROW = record("Reading", value="double")
WIDE = record("Reading", src="string", value="double", unit="string")
CATALOG = PaperCatalog(
    streamlet("app.Source", outlets={"out": READING}),
    streamlet("app.Keyed", outlets={"out": READING}, partition_by=("src",)),
    streamlet("app.Two", outlets={"out": READING, "more": READING}),
    streamlet("app.Float", outlets={"out": record("Reading", src="string", value="float")}),
    streamlet("app.Step", inlets={"in": READING}, outlets={"out": READING}),
    streamlet("app.Narrow", inlets={"in": NARROW}, outlets={"out": READING}),
    streamlet("app.Default", inlets={"in": {
        **WIDE, "fields": [*READING["fields"], {"name": "unit", "type": "string", "default": "m"}]  # type: ignore[misc]
    }}, outlets={"out": READING}),
    streamlet("app.Join", inlets={"in": READING, "other": READING}, outlets={"out": READING}),
    streamlet("app.Sink", inlets={"in": READING}),
)  # fmt: skip
_CHAIN = {"source": "Source", "step": "Step", "sink": "Sink"}


def verified(directory: Path, classes: dict[str, str], topics: str, *arguments: str) -> Verification:
    """Verify an application."""
    streamlets = "\n".join(f"  {ref} = app.{name}" for ref, name in classes.items())
    (directory / "blueprint.conf").write_text(
        f"blueprint {{\n streamlets {{\n{streamlets}\n }}\n topics {{\n{topics}\n }}\n}}"
    )
    return verify("blueprint.conf", catalog=CATALOG, arguments=arguments, environment={}, working_directory=directory)


def planned(directory: Path, classes: dict[str, str], topics: str, *arguments: str) -> ApplicationPlan:
    """Return the plan of an application."""
    verification = verified(directory, classes, topics, *arguments)
    assert verification.plan is not None, verification.diagnostics
    return verification.plan


def topic(id: str, producers: str, consumers: str, more: str = "durable = false") -> str:
    """Return a topic of a blueprint."""
    return f"  {id} {{ producers = [{producers}], consumers = [{consumers}], {more} }}"


ENDS = topic("done", "step.out", "sink.in", "")
PLAIN = f"{topic('raw', 'source.out', 'step.in')}\n{ENDS}"

CASES: list[tuple[str, dict[str, str], str, tuple[str, ...], str]] = [
    ("durable", _CHAIN, f"{topic('raw', 'source.out', 'step.in', '')}\n{ENDS}", (), ""),
    ("off", _CHAIN, PLAIN, ("flow.fuse=off",), "`flow.fuse` is `off`"),
    ("processes", _CHAIN, PLAIN, ("flow.isolation=process",), "processes of their own"),
    ("external", _CHAIN, PLAIN, ("flow.topics.raw.managed=false",), "it is not managed by the application"),
    ("two producers", {**_CHAIN, "again": "Source"},
     f"{topic('raw', 'source.out, again.out', 'step.in')}\n{ENDS}", (), "it has 2 producers, not one"),
    ("two readers", {**_CHAIN, "other": "Sink"},
     f"{topic('raw', 'source.out', 'step.in, other.in')}\n{ENDS}", (), "it has 2 readers, not one"),
    ("no reader", {"source": "Source"}, topic("raw", "source.out", ""), (), "it has 0 readers, not one"),
    ("retention", _CHAIN, PLAIN, ("flow.topics.raw.retention.time=1 day",), "settings that only a stored topic has"),
    ("several outlets", {**_CHAIN, "source": "Two"},
     f"{PLAIN}\n{topic('more', 'source.more', '', '')}", (), "`source` has 2 outlets, not one"),
    ("several inlets", {**_CHAIN, "step": "Join", "again": "Source"},
     f"{PLAIN}\n{topic('more', 'again.out', 'step.other', '')}", (), "`step` has 2 inlets, not one"),
    ("egress", {"source": "Source", "sink": "Sink"}, topic("raw", "source.out", "sink.in"), (),
     "`sink` is an egress"),
    ("keys", {**_CHAIN, "source": "Keyed"}, PLAIN, (), "`source.out` has keys"),
    ("other types", {**_CHAIN, "source": "Float"}, PLAIN, (), "reads the records with other types or defaults"),
    ("a default of the reader", {**_CHAIN, "step": "Default"}, PLAIN, (), "with other types or defaults"),
    *((key, _CHAIN, PLAIN, (f"flow.streamlets.step.inlets.in.{key}={value}",),
       f"`step.in` has settings of its own: `{key}`") for key, value in (
        ("max-records", "5"), ("starting", "latest"), ("sequential", "true"), ("sync-open", "true"),
        ("open-timeout", "5 seconds"))),
    ("outlet waits", _CHAIN, PLAIN, ("flow.streamlets.source.outlets.out.open-timeout=5 seconds",), "`open-timeout`"),
    *((key, _CHAIN, PLAIN, (f"flow.streamlets.step.{key}={value}",), f"different settings: `{name}`")
      for key, value, name in (
        ("trigger", "{ processing-time = 5 seconds }", "trigger"), ("replicas", "2", "replicas"),
        ("retry.max-attempts", "3", "retry"), ("source-evolution", "false", "source-evolution"),
        ("stuck-after", "5 minutes", "stuck-after"), ("end", "when-producers-end", "end"),
        ("spark.sql.ansi.enabled", "false", "spark"))),
    ("real time", _CHAIN, PLAIN, ("flow.trigger={ available-now = true }",), "`available-now` or `real-time`"),
    ("all end with producers", _CHAIN, PLAIN, ("flow.end=when-producers-end",), "its reader ends with its producers"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("classes", "topics", "arguments", "reason"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_topic_is_stored_when_anything_needs_that(
    tmp_path: Path, classes: dict[str, str], topics: str, arguments: tuple[str, ...], reason: str
) -> None:
    """Each condition is reported as the reason, and as a note of `flow verify`; a durable topic has none."""
    verification = verified(tmp_path, classes, topics, *arguments)
    assert verification.plan is not None, verification.diagnostics
    fusion = fusion_of(verification.plan)
    assert not fusion.topics
    assert reason in fusion.refusals.get("raw", "")
    notes = [finding for finding in verification.diagnostics if finding.code == "topic-not-fused"]
    assert [note.causes for note in notes] == ([(fusion.refusals["raw"],)] if reason else [])


@pytest.mark.parametrize("step", ["Step", "Narrow"])
def test_a_topic_that_nothing_needs_is_fused(tmp_path: Path, step: str) -> None:
    """Its reader may have fewer fields. Verification counts it, and the drawing shows it."""
    verification = verified(tmp_path, {**_CHAIN, "step": step}, PLAIN)
    assert verification.plan is not None
    assert fusion_of(verification.plan).topics == {"raw"}
    assert verification.checked.fused == 1
    assert "raw (fused)" in {node.name for node in verification.picture.nodes}


def test_neighbours_are_one_chain(tmp_path: Path) -> None:
    """The streamlets of a chain are in the order of the records; a durable topic begins another one."""
    classes = {"c": "Step", "b": "Step", "a": "Source", "d": "Step", "e": "Step", "f": "Sink"}
    topics = "\n".join((
        topic("one", "a.out", "b.in"), topic("two", "b.out", "c.in"), topic("three", "c.out", "d.in", ""),
        topic("four", "d.out", "e.in"), topic("five", "e.out", "f.in", ""),
    ))  # fmt: skip
    chains = fusion_of(planned(tmp_path, classes, topics)).chains
    assert [[joined.topic.id for joined in chain] for chain in chains] == [["one", "two"], ["four"]]


def test_a_cycle_of_such_topics_is_stored(tmp_path: Path) -> None:
    """No streamlet of it would be the first."""
    base = planned(tmp_path, {"source": "Source", "a": "Step", "b": "Step", "sink": "Sink"}, "\n".join((
        topic("raw", "source.out", "a.in"), topic("there", "a.out", "b.in"), topic("done", "b.out", "sink.in", ""),
    )))  # fmt: skip
    raw, there = replace(base.topic("raw"), producers=("b.out",)), base.topic("there")
    last = base.streamlet("b")
    back = replace(last, outlets=(replace(last.outlets[0], topic="raw"),))
    closed = replace(base, topics=(raw, there), streamlets=(base.streamlet("a"), back))
    fusion = fusion_of(closed)
    assert fusion.chains == ()
    assert set(fusion.refusals) == {"raw", "there"}


def test_other_kinds_and_parts_of_an_application_are_stored(tmp_path: Path) -> None:
    """A spout is not a query, and a driver does not have the streamlets of others."""
    plan = planned(tmp_path, _CHAIN, PLAIN)
    spouts = tuple(replace(own, kind=Kind("spout")) if own.ref == "source" else own for own in plan.streamlets)
    assert fusion_of(replace(plan, streamlets=spouts)).refusals == {"raw": "`source` is of the kind `spout`"}
    alone = replace(plan, streamlets=tuple(own for own in plan.streamlets if own.ref != "source"))
    assert fusion_of(alone).refusals == {"raw": "one of its streamlets is not a query on Spark"}
    assert fusion_of(replace(plan, topics=())) == Fusion()
