"""Which streamlets can be backfilled, and the plan of a backfill."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.backfills.cases import write_application
from blueprint.catalog import Kind, VolumeMountDescriptor
from blueprint.plan import ApplicationPlan
from cli.application import Application
from streamlets.backfills.model import BackfillError
from streamlets.backfills.plan import backfill_plan, streamlet_of


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> ApplicationPlan:
    """The plan of an application with streamlets of each kind of state."""
    directory = write_application(tmp_path_factory.mktemp("plan") / "shop", random.Random(1))
    plan = Application(directory / "blueprint.conf", (), ()).verify().plan
    assert plan is not None
    return plan


def changed(plan: ApplicationPlan, **fields: object) -> ApplicationPlan:
    """Return the plan with another `totals`."""
    streamlets = (replace(own, **fields) if own.ref == "totals" else own for own in plan.streamlets)  # type: ignore[arg-type]
    return replace(plan, streamlets=tuple(streamlets))


def refusal(plan: ApplicationPlan) -> str:
    """Return why `totals` cannot be backfilled."""
    with pytest.raises(BackfillError) as refused:
        streamlet_of(plan, "totals")
    assert refused.value.refused
    return str(refused.value)


def test_what_is_refused(plan: ApplicationPlan, tmp_path: Path) -> None:
    """Each with its reason."""
    own = plan.streamlet("totals")
    streamlet_of(plan, "totals")
    mount = VolumeMountDescriptor("files", "/x", "ReadWriteMany", own.descriptor.declared)
    reading = replace(mount, access_mode="ReadOnlyMany")
    assert "has no outlet" in refusal(changed(plan, outlets=()))
    assert "has no inlet" in refusal(changed(plan, inlets=()))
    assert "is a spout" in refusal(changed(plan, kind=Kind("spout")))
    assert "reads no topic" in refusal(changed(plan, tasks="tasks.totals"))
    assert "reads and writes the topic `events`" in refusal(
        changed(plan, outlets=(replace(own.outlets[0], topic="events"),))
    )
    assert "the writable mount `files`" in refusal(
        changed(plan, descriptor=replace(own.descriptor, volume_mounts=(mount,)))
    )
    streamlet_of(changed(plan, descriptor=replace(own.descriptor, volume_mounts=(reading,))), "totals")
    topics = tuple(replace(topic, channel="kafka") if topic.id == "events" else topic for topic in plan.topics)
    assert "on the channel `kafka`" in refusal(replace(plan, topics=topics))


def test_the_plan_of_a_backfill(plan: ApplicationPlan) -> None:
    """What it reads is external, so that nothing maintains it; it waits for nobody, and names are different."""
    topics = tuple(
        replace(topic, name="_x" if topic.id == "events" else "x/y", channel="kafka", options={"retention.time": 1})
        for topic in plan.topics
    )
    alone = backfill_plan(replace(plan, topics=topics), streamlet_of(plan, "pairs"))
    assert [own.ref for own in alone.streamlets] == ["pairs"]
    found = {topic.id: (topic.name, topic.channel, topic.managed, topic.options) for topic in alone.topics}
    assert found == {
        "events": ("x", "delta", False, {}),
        "others": ("x-y", "delta", False, {}),
        "pairs": ("x-y-", "delta", True, {}),
    }
    assert alone.producers_of("pairs") == ()
    assert all(inlet.settings.starting == "earliest" for inlet in alone.streamlets[0].inlets)
