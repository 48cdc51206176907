"""Ends that never come: the help of each finding removes it, and is true by the rule of the runner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprint.diagnostics import Diagnostic
from blueprint.plan import ApplicationPlan
from blueprint.trigger import AvailableNow, Trigger
from blueprint.verification.verify import Verification, verify
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner.openings import ending_in

MODULE = """
from streamlets import AvroInlet, AvroOutlet, BatchSource, GeneratorSpout, SparkStreamlet, SparkStreamletLogic

ROW = "id long"

class Nothing(SparkStreamletLogic):
    def build_streaming_queries(self):
        return []

class Rows(SparkStreamlet):
    out = AvroOutlet(schema=ROW)
    Logic = Nothing

class Copy(SparkStreamlet):
    rows = AvroInlet("in", schema=ROW)
    out = AvroOutlet(schema=ROW)
    Logic = Nothing

class Tasks(BatchSource):
    out = AvroOutlet(schema=ROW)
    def discover(self, eat, event): ...
    def prepare(self, task): ...
    def read_next(self): ...

class Generated(GeneratorSpout):
    out = AvroOutlet(schema=ROW)
    def run(self, out, resume):
        yield out.transaction([])
"""
CRON = 'discovery { triggerer = cron, config.expression = "0 6 * * *" }'
ONCE = "parameters.discovery.triggerer = immediate"
SCHEDULED = f"class = ends_app.Tasks, parameters.{CRON}"
PROGRAM = 'class = streamlets.Spout, outlets.out = "id long", parameters { cmd = [cat]'
PRODUCERS = {
    "a generator": "class = ends_app.Generated",
    "a program": PROGRAM + " }",
    "a service": PROGRAM + ", service.port = 9077 }",
    "a service with a trigger": PROGRAM + ", service.port = 9077 }, trigger = available-now",
    "a batch source": f"class = ends_app.Tasks, {ONCE}",
    "a batch source with a trigger": f"class = ends_app.Tasks, {ONCE}, trigger = available-now",
    "a batch source with a schedule": SCHEDULED,
    "a batch source with a schedule and a trigger": f"{SCHEDULED}, trigger = available-now",
    "a query": "class = ends_app.Rows",
    "a query with a trigger": "class = ends_app.Rows, trigger = available-now",
    "a query with another trigger": "class = ends_app.Rows, trigger = available-now, "
    "queries.other.trigger.processing-time = 5 s",
    "a query with a trigger of its own": "class = ends_app.Rows, queries.other.trigger = available-now",
}
CHAIN, CYCLE, EXTERNAL = "producers = [first.out]", "producers = [first.out, back.out]", "managed = no"
ENDS = ("flow.end = when-producers-end", "flow.streamlets.between.end = when-producers-end",
        "flow.streamlets.first.end = when-producers-end", "")  # fmt: skip
NEVER, FOR_EVER = "end-never-comes", "inlet-waits-for-ever"
WAITS = "flow.streamlets.last.inlets.in.sequential = true"


def application(producer: str, writers: str, *settings: str) -> str:
    """Return a blueprint: a streamlet `first`, two that copy its records, and `back` if there is a cycle.

    Arguments:
        producer: the declaration of `first`.
        writers: what writes its topic.
        settings: lines after the blueprint.
    """
    cyclic = writers == CYCLE
    streamlets = ["between = ends_app.Copy", "last = ends_app.Copy"]
    streamlets += [] if writers == EXTERNAL else [f"first {{ {producer} }}"]
    streamlets += ["back = ends_app.Copy"] if cyclic else []
    consumers = "last.in, back.in" if cyclic else "last.in"
    topics = [
        f"rows {{ {writers}, consumers = [between.in] }}",
        f"copies {{ producers = [between.out], consumers = [{consumers}] }}",
        "more { producers = [last.out] }",
    ]
    allowed = ', allow-cycles { back = "drops the records that it has seen" }' if cyclic else ""
    blueprint = f"blueprint {{ streamlets {{ {', '.join(streamlets)} }}, topics {{ {', '.join(topics)} }}{allowed} }}"
    return "\n".join([blueprint, *settings])


def ending(plan: ApplicationPlan) -> set[str]:
    """Return the streamlets of an application that end by themselves in a run, by the rule of the runner."""
    ends: set[str] = set()
    while True:
        known = len(ends)
        for streamlet in plan.streamlets:
            kind, external, settings = streamlet.descriptor.kind, streamlet.descriptor.external, streamlet.settings
            triggers: list[Trigger | None] = [*settings.queries.values()] or [settings.trigger]
            producers = {ref for inlet in streamlet.inlets for ref in plan.writers_of(inlet.topic)} - {streamlet.ref}
            with_producers = streamlet.ref in ending_in(plan)
            if kind.tasks:  # as `DiscoveryUnit.bounded`; its query ends after its discovery
                does = external.finite and with_producers
            elif kind.completes:
                does = not external.listening
            else:
                bounded = all(isinstance(trigger, AvailableNow) for trigger in triggers)
                does = bounded or (with_producers and producers <= ends)
            ends |= {streamlet.ref} if does else set()
        if len(ends) == known:
            return ends


def alternatives(text: str, help: str) -> Iterator[tuple[str, str]]:
    """Yield each alternative of the help of a finding, and the blueprint with it."""
    for alternative in re.split(r"[;,] or (?=set |use |remove )", help):
        changed = text
        for ref in re.findall(r"use the triggerer `immediate` for `(\w+)`", alternative):
            assert ref == "first" and CRON in changed
            changed = changed.replace(CRON, "discovery.triggerer = immediate")
        if removed := re.search(r"remove `(end|sequential)`", alternative):
            changed = "\n".join(line for line in changed.splitlines() if f".{removed[1]} = " not in line)
        for setting in re.findall(r"set `(flow[^`]+)`", alternative):
            changed += f"\n{setting}"
        assert changed != text, alternative
        yield alternative, changed


class Project:
    """A project whose blueprint is verified.

    Arguments:
        directory: its directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (directory / "ends_app.py").write_text(MODULE)

    def verify(self, text: str) -> Verification:
        """Return the verification of a blueprint."""
        (self._directory / "blueprint.conf").write_text(text)
        return verify("blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=self._directory)

    def findings(self, text: str) -> list[Diagnostic]:
        """Return the findings about ends of a blueprint."""
        return [finding for finding in self.verify(text).diagnostics if finding.code in (NEVER, FOR_EVER)]

    def ending(self, text: str) -> set[str]:
        """Return the streamlets of a blueprint that end by themselves."""
        verification = self.verify(text)
        assert verification.plan is not None, [diagnostic.headline for diagnostic in verification.diagnostics]
        return ending(verification.plan)

    def check(self, text: str) -> None:
        """Check the findings of a blueprint, and each alternative of their help."""
        ends = self.ending(text)
        findings = self.findings(text)
        if WAITS in text:
            assert any(finding.code == FOR_EVER for finding in findings) is ("between" not in ends)
        if ENDS[0] in text:
            assert any(finding.code == NEVER for finding in findings) is not ({"between", "last"} <= ends)
        for finding in findings:
            for alternative, changed in alternatives(text, finding.help[0]):
                reason, streamlet = f"{finding.headline}: {alternative}", finding.streamlets[0]
                left = [(other.code, other.streamlets[0]) for other in self.findings(changed)]
                assert (finding.code, streamlet) not in left, reason
                if not (alternative.startswith("remove") or alternative.endswith("on-request`")):
                    assert ("between" if finding.code == FOR_EVER else streamlet) in self.ending(changed), reason


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Project(tmp_path)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("writers", [CHAIN, CYCLE])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_each_help_is_true(project: Project, producer: str, writers: str, end: str) -> None:
    """A finding is reported if the runner goes on, and every change that its help names lets it end."""
    project.check(application(PRODUCERS[producer], writers, end))
    if writers == CHAIN:
        project.check(application(PRODUCERS[producer], writers, end, WAITS))


@pytest.mark.parametrize("end", [ENDS[0], ENDS[1], ""])
def test_each_help_is_true_for_external_topics(project: Project, end: str) -> None:
    """When their writers end is not known."""
    project.check(application("", EXTERNAL, end))
    project.check(application("", EXTERNAL, end, WAITS))


def test_the_cause_is_the_first_streamlet_that_goes_on(project: Project) -> None:
    """A setting that a streamlet has already is not proposed."""
    source, inlet = project.findings(application(SCHEDULED, CHAIN, ENDS[0], WAITS))
    assert source.headline == "`first` is to end when its tasks are read, but its discovery does not end"
    assert source.help == (
        "set `flow.streamlets.first.end = on-request`, or use the triggerer `immediate` for `first`",
    )
    assert (inlet.code, inlet.streamlets) == (FOR_EVER, ("last", "between", "first"))
    assert inlet.causes[0].startswith("`between` ends only after `first`, which goes on discovering tasks")
    assert inlet.help[0].startswith("use the triggerer `immediate` for `first`; or remove `sequential`")


def test_a_cycle_is_reported_once(project: Project) -> None:
    """Its streamlets wait for each other's end. What comes after it is not reported."""
    (finding,) = project.findings(application(PRODUCERS["a generator"], CYCLE, ENDS[0]))
    assert (finding.code, finding.streamlets) == (NEVER, ("between",))
    assert finding.causes == ("`between` is in a cycle with `back`: each of them would end only after the others",)
