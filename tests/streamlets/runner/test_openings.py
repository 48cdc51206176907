"""What the settings of inlets require before their streamlets start, and which streamlets end with their producers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blueprint.core_settings import InletSettings, StreamletSettings
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, StreamletPlan
from blueprint.quantities import Duration
from streamlets.runner.openings import cycles_of, dependencies_of, ending_in, openings_of
from streamlets.runner.supervision.gate import Opening
from tests.streamlets.channels.topics import READING, topic_plan

_LIMIT = Duration(30 * 10**9)
_PRODUCERS = frozenset({"gauges", "more"})


def _openings(settings: InletSettings, *producers: str) -> tuple[Opening, ...]:
    """Return the requirements of a streamlet `mean` with one inlet, whose topic has these outlets as producers."""
    descriptor: Any = None
    inlet = InletPlan("mean", "in", None, READING, "readings", settings)
    mean = StreamletPlan(ref="mean", class_name="plant.Mean", descriptor=descriptor, inlets=(inlet,))
    topic = replace(topic_plan("readings"), producers=producers)
    plan = ApplicationPlan(name="plant", blueprint="", directory=".", streamlets=(mean,), topics=(topic,))
    return openings_of(plan)["mean"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (InletSettings(), ()),
        (InletSettings(sequential=True), (Opening(producers=_PRODUCERS, sequential=True),)),
        (InletSettings(sync_open=True), (Opening(producers=_PRODUCERS, opened=2),)),
        (InletSettings(open_timeout=_LIMIT), (Opening(producers=_PRODUCERS, opened=1, within=30.0),)),
        (
            InletSettings(sequential=True, sync_open=True, open_timeout=_LIMIT),
            (Opening(producers=_PRODUCERS, opened=2, within=30.0, sequential=True),),
        ),
    ],
)
def test_settings_become_requirements(settings: InletSettings, expected: tuple[Opening, ...]) -> None:
    """Without a setting nothing is required; a timeout alone requires one producer."""
    assert _openings(settings, "gauges.out", "more.out", "more.dead-letters") == expected


def test_only_other_streamlets_of_the_application_are_awaited() -> None:
    """A topic without them opens at once, and so does one that only the streamlet itself writes."""
    everything = InletSettings(sequential=True, sync_open=True, open_timeout=_LIMIT)
    assert _openings(everything) == ()
    assert _openings(everything, "mean.out") == ()
    assert _openings(everything, "mean.out", "gauges.out")[0].producers == {"gauges"}


@pytest.mark.parametrize(
    ("producers", "managed", "ends"),
    [
        (("gauges.out",), True, True),
        (("gauges.out", "mean.out"), True, True),
        (("mean.out",), True, False),
        ((), True, False),
        (("gauges.out",), False, False),
    ],
)
def test_a_streamlet_ends_with_the_streamlets_that_write_its_topics(
    producers: tuple[str, ...], managed: bool, ends: bool
) -> None:
    """It goes on if others may write one of its topics, or if only it does; and without the setting."""
    descriptor: Any = None
    inlet = InletPlan("mean", "in", None, READING, "readings")
    topic = replace(topic_plan("readings", managed=managed), producers=producers)
    for settings, expected in ((StreamletSettings(end="when-producers-end"), ends), (StreamletSettings(), False)):
        mean = StreamletPlan(ref="mean", class_name="", descriptor=descriptor, inlets=(inlet,), settings=settings)
        plan = ApplicationPlan(name="plant", blueprint="", directory=".", streamlets=(mean,), topics=(topic,))
        assert ending_in(plan) == ({"mean"} if expected else set())


def test_a_streamlet_without_inlets_ends_only_by_itself() -> None:
    """The setting of the application does not stop an ingress; a batch source ends with its discovery."""
    descriptor: Any = None
    for tasks, expected in ((None, set[str]()), ("tasks.gauges", {"gauges"})):
        settings = StreamletSettings(end="when-producers-end")
        gauges = StreamletPlan(ref="gauges", class_name="", descriptor=descriptor, settings=settings, tasks=tasks)
        plan = ApplicationPlan(name="plant", blueprint="", directory=".", streamlets=(gauges,), topics=())
        assert ending_in(plan) == expected


def _streamlet(ref: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> StreamletPlan:
    descriptor: Any = None
    return StreamletPlan(
        ref=ref,
        class_name="plant.Any",
        descriptor=descriptor,
        inlets=tuple(InletPlan(ref, f"from-{topic}", None, READING, topic, InletSettings()) for topic in reads),
        outlets=tuple(OutletPlan(ref, f"to-{topic}", None, READING, topic) for topic in writes),
    )


def test_cycles_have_the_outlets_that_lead_back() -> None:
    """A streamlet that reads what it writes is a cycle, too; streamlets before and after a cycle are not in it."""
    streamlets = (
        _streamlet("feed", (), ("new",)),
        _streamlet("try", ("new", "again"), ("tried",)),
        _streamlet("judge", ("tried",), ("again", "done")),
        _streamlet("own", ("done", "self"), ("self", "result")),
        _streamlet("show", ("result",), ()),
    )
    names = ("new", "again", "tried", "done", "self", "result")
    plan = ApplicationPlan(
        name="plant", blueprint="", directory=".", streamlets=streamlets, topics=tuple(map(topic_plan, names))
    )
    found = sorted(cycles_of(plan), key=len)
    assert found == [
        {"own": frozenset({"to-self"})},
        {"try": frozenset({"to-tried"}), "judge": frozenset({"to-again"})},
    ]
    assert cycles_of(ApplicationPlan(name="p", blueprint="", directory=".", streamlets=streamlets[:1], topics=())) == ()


def test_outlets_with_a_limit_wait_for_their_channels() -> None:
    """By topic; an outlet without `open-timeout` waits for nothing."""
    descriptor: Any = None
    outlets = (
        OutletPlan("gauges", "out", None, READING, "readings", open_timeout=_LIMIT),
        OutletPlan("gauges", "rest", None, READING, "others"),
    )
    gauges = StreamletPlan(ref="gauges", class_name="plant.Gauges", descriptor=descriptor, outlets=outlets)
    plan = ApplicationPlan(name="plant", blueprint="", directory=".", streamlets=(gauges,), topics=())
    assert dependencies_of(plan).outlets == {"gauges": {"readings": 30.0}}
