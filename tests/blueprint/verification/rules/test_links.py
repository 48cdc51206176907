"""Unconnected ports: the suggested topic, and one finding for one mistake."""

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


def findings(directory: Path, streamlets: str, topics: str) -> tuple[Diagnostic, ...]:
    """Return the findings of a blueprint."""
    file = directory / "blueprint.conf"
    file.write_text(BLUEPRINT.format(streamlets=streamlets, topics=topics), encoding="utf-8")
    return verify(file, catalog=CATALOG, environment={}, working_directory=directory).diagnostics


JOINED = "first = app.Source, drain = app.Drain"
TOPIC = "t { producers = [first.out], consumers = [drain.in] }"


def test_no_topic_from_a_streamlet_to_itself_is_suggested(tmp_path: Path) -> None:
    """An unconnected outlet and an unconnected inlet of one streamlet are two mistakes, even with equal schemas."""
    for name in ("Same", "Changed"):
        diagnostics = findings(tmp_path, f"{JOINED}, step = app.{name}", TOPIC)
        assert [diagnostic.code for diagnostic in diagnostics] == ["port-unconnected", "port-unconnected"]


def test_no_topic_between_incompatible_ports_is_suggested(tmp_path: Path) -> None:
    """Equal names of records do not make their schemas compatible."""
    diagnostics = findings(tmp_path, f"{JOINED}, source = app.Source, sink = app.Sink", TOPIC)
    assert [diagnostic.code for diagnostic in diagnostics] == ["port-unconnected", "port-unconnected"]
    (joined,) = findings(tmp_path, f"{JOINED}, source = app.Source, step = app.Drain", TOPIC)
    assert "source.out" in joined.help[0]
    assert "step.in" in joined.help[0]


def test_an_outlet_among_the_consumers_is_one_finding(tmp_path: Path) -> None:
    """The topic has no producers because its producer is in the wrong list."""
    (finding,) = findings(tmp_path, JOINED, "t { consumers = [first.out, drain.in] }")
    assert finding.code == "wrong-direction"
