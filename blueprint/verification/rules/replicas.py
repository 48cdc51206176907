"""Rules about `replicas`: the streamlet has work that tasks of Spark can share."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.values import Value, key_span_of
from blueprint.model.draft import Draft
from blueprint.settings.values import streamlet_settings
from blueprint.verification.rules.settings import real_time_setting

_REMOVE = "remove `replicas`"


def replicas_in_real_time(draft: Draft) -> Iterator[Diagnostic]:
    """A streamlet with `replicas` has no real-time trigger."""
    for ref, place in _set_replicas(draft):
        trigger = real_time_setting(draft, ref)
        if trigger is not None:
            yield finding(
                "real-time-plan",
                f"`{ref}` has `replicas`, and a real-time trigger",
                key_span_of(place),
                also=[Label(key_span_of(trigger), "its trigger")],
                causes=["in real-time mode each partition of a topic has a task of its own"],
                help=[f"{_REMOVE}, and give its topics as many partitions", "use a `processing-time` trigger"],
                streamlets=(ref,),
            )


def replicas_without_effect(draft: Draft) -> Iterator[Diagnostic]:
    """A streamlet with `replicas` runs on Spark, and the channel of one of its inlets can split a batch."""
    for ref, place in _set_replicas(draft):
        cause = _cause(draft, ref)
        if cause:
            yield finding(
                "replicas-without-effect",
                f"`replicas` of `{ref}` has no effect",
                key_span_of(place),
                causes=[cause],
                help=[_REMOVE],
                streamlets=(ref,),
            )


def _cause(draft: Draft, ref: str) -> str:
    """Return why the number of replicas of a streamlet has no effect; "" if it has one, or if that is not known."""
    descriptor = draft.descriptor(ref)
    if descriptor is None:
        return ""
    if not descriptor.kind.on_spark:
        return f"replicas are tasks of Spark, and a {descriptor.kind.name} does not run on Spark"
    topics = [
        binding.topic
        for binding in draft.wiring.bindings
        if binding.key.streamlet == ref and binding.key.role == "consumer"
    ]
    channels = {draft.topics[topic].channel for topic in topics if topic in draft.topics}
    whole = sorted(name for name in channels if name in draft.channels and not draft.channels[name].splits)
    if not whole or len(whole) < len(channels):
        return ""
    return f"the channel `{whole[0]}` of its topics reads each batch with one task"


def _set_replicas(draft: Draft) -> Iterator[tuple[str, Value]]:
    """Yield the streamlets with replicas, and the settings; none when a setting is invalid, which is reported."""
    for ref in draft.blueprint.streamlets if not draft.misfits else ():
        place = draft.settings.get("streamlets", ref, "replicas")
        if place is not None and streamlet_settings(draft.settings, ref).replicas is not None:
            yield ref, place
