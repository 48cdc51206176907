"""The plan of a backfill: one streamlet, which reads snapshots of topics and writes topics of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from blueprint.core_settings import InletSettings
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, StreamletPlan, TopicPlan
from blueprint.quantities import Duration
from blueprint.spelling import suggestion
from streamlets.backfills.model import BackfillError
from streamlets.channels.registry import CHANNEL_TYPES, DEFAULT

_WRITABLE = "ReadWriteMany"


def streamlet_of(plan: ApplicationPlan, ref: str) -> StreamletPlan:
    """Return a streamlet whose results can be computed again.

    Raises:
        BackfillError: there is no such streamlet, or it is not possible for it.
    """
    known = [streamlet.ref for streamlet in plan.streamlets]
    if ref not in known:
        raise BackfillError(f"there is no streamlet `{ref}`; {suggestion(ref, known)}")
    streamlet = plan.streamlet(ref)
    _require_ports(streamlet)
    for mount in streamlet.descriptor.volume_mounts:
        if mount.access_mode == _WRITABLE:
            raise BackfillError(
                f"`{ref}` has the writable mount `{mount.name}`: a backfill would write to files of the application",
                "declare it as read-only if it only reads them",
            )
    for inlet in streamlet.inlets:
        topic = plan.topic(inlet.topic)
        if not CHANNEL_TYPES[topic.channel].traits.ranges:
            raise BackfillError(
                f"`{ref}.{inlet.name}` reads `{topic.id}` on the channel `{topic.channel}`, which does not find "
                "records by the time of their commit",
                f"copy the topic with `flow topics copy {topic.id} --to {DEFAULT}`, and add "
                f"`flow.topics.{topic.id}.channel={DEFAULT}` to read the copy; its times are the times of the copying",
            )
    return streamlet


def _require_ports(streamlet: StreamletPlan) -> None:
    """Require that a streamlet reads topics, and writes others.

    Raises:
        BackfillError: it does not.
    """
    ref = streamlet.ref
    if not streamlet.kind.on_spark or streamlet.tasks is not None:
        raise BackfillError(
            f"`{ref}` is a {streamlet.kind.name}, which reads no topic: what it reads is not there a second time",
            "backfill the streamlets that read its topic; a batch source repeats its tasks with `flow tasks retry`",
        )
    if not streamlet.inlets:
        raise BackfillError(
            f"`{ref}` has no inlet, so there is no range of a topic to read again",
            "backfill the streamlets that read its topics",
        )
    if not streamlet.outlets:
        raise BackfillError(
            f"`{ref}` has no outlet: what it writes outside of topics would be written twice",
            "backfill the streamlet before it into a directory, and load the files",
        )
    read = {inlet.topic for inlet in streamlet.inlets}
    if both := sorted(read & {outlet.topic for outlet in streamlet.outlets}):
        raise BackfillError(
            f"`{ref}` reads and writes the topic `{both[0]}`: its earlier results are in the range, and would be "
            "processed again"
        )


def backfill_plan(plan: ApplicationPlan, streamlet: StreamletPlan) -> ApplicationPlan:
    """Return the plan of an application with one streamlet on topics of the embedded channel.

    Its inlets read from the beginnings of snapshots, which are external: nothing maintains or deletes their records.
    Nothing waits for producers, and no server shows metrics.
    """
    inlets = tuple(
        replace(inlet, settings=InletSettings(max_records=inlet.settings.max_records), options={}, on_invalid="fail")
        for inlet in streamlet.inlets
    )
    outlets = tuple(replace(outlet, options={}, open_timeout=Duration(0)) for outlet in streamlet.outlets)
    settings = replace(streamlet.settings, group=None)
    alone = replace(streamlet, inlets=inlets, outlets=outlets, settings=settings)
    read = {inlet.topic for inlet in inlets}
    written = {outlet.topic for outlet in outlets} | ({alone.dead_letters} if alone.dead_letters else set())
    topics = tuple(_embedded(topic, alone, topic.id in read) for topic in plan.topics if topic.id in read | written)
    own = replace(plan.settings, metrics=type(plan.settings.metrics)(), resources="keep", isolation="none")
    return replace(plan, streamlets=(alone,), topics=_with_names(topics), settings=own)


def _embedded(topic: TopicPlan, streamlet: StreamletPlan, is_read: bool) -> TopicPlan:
    """Return a topic as the backfill has it; what it reads is a snapshot, which exists."""
    of_streamlet: tuple[InletPlan | OutletPlan, ...] = (*streamlet.inlets, *streamlet.outlets)
    ports = tuple(f"{port.streamlet}.{port.name}" for port in of_streamlet if port.topic == topic.id)
    producers, consumers = ((), ports) if is_read else (ports, ())
    return TopicPlan(topic.id, topic.name, DEFAULT, not is_read, producers, consumers, {})


def _with_names(topics: Iterable[TopicPlan]) -> tuple[TopicPlan, ...]:
    """Return topics with different names that the embedded channel allows."""
    named: dict[str, TopicPlan] = {}
    for topic in topics:
        name = topic.name.lstrip("._").replace("/", "-") or "topic"
        while name in named:
            name += "-"
        named[name] = replace(topic, name=name)
    return tuple(named.values())
