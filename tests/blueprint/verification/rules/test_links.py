"""Missing connections: what is advised, and that one mistake gives one finding."""

from __future__ import annotations

from pathlib import Path

from blueprint.diagnostics import Diagnostic
from blueprint.verification.verify import verify
from tests.blueprint.paper import PaperCatalog, record, streamlet

READING, OTHER = record("Reading", src="string"), record("Reading", src="string", value="double")
CATALOG = PaperCatalog(
    streamlet("app.Source", outlets={"out": READING}),
    streamlet("app.Same", inlets={"in": READING}, outlets={"out": READING}),
    streamlet("app.Changed", inlets={"in": OTHER}, outlets={"out": READING}),
    streamlet("app.Sink", inlets={"in": OTHER}),
    streamlet("app.Drain", inlets={"in": READING}),
)
BLUEPRINT = "blueprint {{ streamlets {{ {streamlets} }}, topics {{ {topics} }} }}"


def found(folder: Path, streamlets: str, topics: str) -> tuple[Diagnostic, ...]:
    """The findings of a blueprint."""
    file = folder / "blueprint.conf"
    file.write_text(BLUEPRINT.format(streamlets=streamlets, topics=topics), encoding="utf-8")
    return verify(file, catalog=CATALOG, environment={}, working_directory=folder).diagnostics


JOINED = "first = app.Source, drain = app.Drain"
TOPIC = "t { producers = [first.out], consumers = [drain.in] }"


def test_a_streamlet_is_not_advised_to_feed_itself(tmp_path: Path) -> None:
    """An outlet and an inlet of one streamlet are two mistakes, whatever their schemas are."""
    for name in ("Same", "Changed"):
        findings = found(tmp_path, f"{JOINED}, step = app.{name}", TOPIC)
        assert [each.code for each in findings] == ["port-unconnected", "port-unconnected"]


def test_an_inlet_that_cannot_read_an_outlet_is_not_joined_to_it(tmp_path: Path) -> None:
    """Two records of one name are not yet one contract."""
    findings = found(tmp_path, f"{JOINED}, source = app.Source, sink = app.Sink", TOPIC)
    assert [each.code for each in findings] == ["port-unconnected", "port-unconnected"]
    (joined,) = found(tmp_path, f"{JOINED}, source = app.Source, step = app.Drain", TOPIC)
    assert "source.out" in joined.help[0]
    assert "step.in" in joined.help[0]


def test_an_outlet_among_the_consumers_is_one_finding(tmp_path: Path) -> None:
    """The topic has no producers because its producer is in the wrong list."""
    (finding,) = found(tmp_path, JOINED, "t { consumers = [first.out, drain.in] }")
    assert finding.code == "wrong-direction"
