"""From a draft without errors to the plan."""

from __future__ import annotations

from blueprint.hocon.values import ObjectValue, Scalar
from blueprint.plan import ApplicationPlan
from blueprint.rules.draft import Draft, TopicFacts


def topic_facts(id: str, settings: ObjectValue) -> TopicFacts:
    """What the settings make of a topic."""

    def text(*path: str, default: str) -> str:
        value = settings.get("topics", id, *path)
        return value.text if isinstance(value, Scalar) and value.value is not None else default

    return TopicFacts(
        text("topic", "name", default=id),
        text("channel", default="delta"),
        text("managed", default="true") not in ("false", "no", "off"),
        text("cluster", default=""),
    )


def make_plan(draft: Draft) -> ApplicationPlan | None:
    return None
