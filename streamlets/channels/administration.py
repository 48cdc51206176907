"""Comparing topics with what exists, and altering or deleting them: what a channel may offer besides `base`.

A channel with servers stores the layout and the configuration of a topic outside of the application, where others may
change them. Such a channel implements these protocols; commands find out with `isinstance`. Nothing but `flow topics
apply` alters or deletes a topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicSummary


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting of a topic that is not as the blueprint sets it.

    Arguments:
        setting: the setting below the topic in the blueprint, such as `topic.partitions`.
        planned: its value in the blueprint.
        existing: the value of the topic as it exists; None if the topic cannot have the setting.
        alterable: whether `alter` can make it as planned.
        warning: what altering it may delete, or cannot undo, one sentence without a full stop; "" for neither.
        help: what to do instead, in the imperative; "" if it is alterable.
    """

    setting: str
    planned: str
    existing: str | None
    alterable: bool = True
    warning: str = ""
    help: str = ""

    def __str__(self) -> str:
        existing = f"is `{self.existing}`" if self.existing is not None else "does not exist"
        return f"`{self.setting}` {existing}, and the blueprint sets `{self.planned}`"


@runtime_checkable
class ComparableTopic(Protocol):
    """A topic that can be compared with what exists; implemented by the `TopicResource` of a channel."""

    def exists(self) -> bool:
        """Return whether the topic exists."""

    def differences(self) -> tuple[Difference, ...]:
        """Return what is not as the plan of the topic sets it. Settings that the plan does not have are not compared.

        Raises:
            TopicLostError: the topic does not exist, or is not the one that the application first used.
        """

    def alter(self, differences: Iterable[Difference]) -> None:
        """Make settings as planned.

        Arguments:
            differences: some of those that `differences` returned, each of which is alterable.

        Raises:
            TopicLostError: the topic does not exist.
            ChannelUnavailableError: the servers do not answer, or refuse it.
        """


class CreatedTopic(Protocol):
    """A topic that an application has created; implemented by the `TopicResource` of a channel."""

    plan: TopicPlan

    def summary(self) -> TopicSummary:
        """Return what is in the topic; see `TopicResource.summary`."""

    def delete(self) -> None:
        """Delete the topic with all its records, and what the application knows of it.

        Raises:
            TopicLostError: the topic of that name is not the one that the application has created.
            ChannelUnavailableError: the servers do not answer, or refuse it.
        """


@runtime_checkable
class TopicAdministration(Protocol):
    """A channel that knows which topics it has created for an application."""

    def unused(self, plans: Sequence[TopicPlan]) -> tuple[CreatedTopic, ...]:
        """Return the topics that the application has created and no longer has, sorted by name.

        Arguments:
            plans: the topics of the application on this channel.
        """
