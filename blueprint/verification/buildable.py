"""The streamlets whose logic can be built, even if verification found errors in other parts of the application."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from blueprint.catalog import ChannelTraits
from blueprint.diagnostics import Diagnostic, Severity
from blueprint.logic import Buildable, BuildableApplication
from blueprint.model.draft import Draft
from blueprint.settings.parameters import ParameterError, parameter_values
from blueprint.settings.values import application_settings, spark_places
from blueprint.verification.planning import dead_letter_topics, streamlet_plan, topics_of


def buildable(draft: Draft, *, state: bool = False) -> BuildableApplication:
    """Return the streamlets of a draft whose logic can be built: those without errors of their own.

    Arguments:
        draft: the application.
        state: as in `Buildable`.
    """
    directory = Path(draft.blueprint.directory).resolve()
    topics = defaultdict(str, topics_of(draft))
    dead_letters = dead_letter_topics(draft, topics)
    return BuildableApplication(
        name=directory.name or "application",
        directory=str(directory),
        streamlets=tuple(
            Buildable(
                streamlet_plan(draft, ref, topics, dead_letters.get(ref), directory),
                entry.key,
                _slow_topics(draft, ref),
                {
                    binding.topic: draft.topics[binding.topic].channel
                    for binding in draft.wiring.bindings
                    if binding.key.streamlet == ref
                },
                spark_places(draft.settings, ref),
                state,
            )
            for ref, entry in draft.blueprint.streamlets.items()
            if _is_buildable(draft, ref)
        ),
        settings=application_settings(draft.settings),
    )


def _is_buildable(draft: Draft, ref: str) -> bool:
    descriptor = draft.descriptor(ref)
    if descriptor is None or descriptor.parameter_problems or _has_errors(descriptor.external.findings):
        return False
    ports = (*descriptor.inlets, *descriptor.outlets)
    if len({port.name for port in ports}) < len(ports):
        return False
    if any(port.contract is None or _has_errors(port.problems) for port in ports):
        return False
    try:
        values = parameter_values(descriptor.parameters, draft.section(ref, "parameters"))
    except ParameterError:
        return False
    return {parameter.key for parameter in descriptor.parameters if not parameter.optional} <= set(values)


def _has_errors(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.severity is Severity.ERROR for problem in problems)


def _slow_topics(draft: Draft, ref: str) -> dict[str, str]:
    """Return the topics of a streamlet whose channels do not support real-time triggers, with their channels."""
    slow_topics = {}
    for binding in draft.wiring.bindings:
        facts = draft.topics.get(binding.topic)
        traits: ChannelTraits | None = draft.channels.get(facts.channel) if facts is not None else None
        if binding.key.streamlet == ref and traits is not None and not traits.real_time:
            slow_topics[binding.topic] = traits.name
    return slow_topics
