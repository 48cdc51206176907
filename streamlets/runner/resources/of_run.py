"""`RunResources`: what a run creates before its streamlets start, and deletes after all of them have completed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blueprint.core_settings import Resources
from blueprint.plan import ApplicationPlan
from streamlets.channels.base import TopicDamagedError, TopicLostError, TopicResource, TopicWriteError
from streamlets.channels.waiting import required_topics
from streamlets.runner.events.event import Event
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.run_events import ResourceSettled, TopicDiffers
from streamlets.runner.events.status import UnitId
from streamlets.runner.resources.creation import require_deletable, require_topics
from streamlets.runner.resources.deletion import Deletion, is_begun, require_own_deletion
from streamlets.runner.resources.outcome import Outcome
from streamlets.runner.state_directory.directory import StateDirectory, StateError
from streamlets.runner.topics import differences_of, make_topics, topics_of
from streamlets.spark.failure import text_of

_COMPLETE = (
    "correct the causes above, which are in the log, too; then run again, or call `flow run --resources delete-only`; "
    "`flow run --fresh` begins again without them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResources:
    """The resources of a run, which owns the state directory.

    Arguments:
        plan: the application.
        state: its state directory.
        mode: what is created and deleted.
        log: the log of the run.
        publish: takes events.
    """

    plan: ApplicationPlan
    state: StateDirectory
    mode: Resources
    log: RunLog
    publish: Callable[[Event], None]

    def prepare(self) -> Mapping[str, TopicResource]:
        """Complete a deletion that was begun, and create the topics or require that they exist; return them by id.

        Raises:
            StateError: a topic cannot be created, does not exist, or cannot be deleted.
        """
        if is_begun(self.state):
            self._complete()
        topics = self._topics()
        for difference in self._differences(topics):
            self.publish(difference)
        return topics

    def release(self, ending: Callable[[], str]) -> str:
        """Delete the resources after a clean end, if the mode says so; return why something is left, "" otherwise.

        Arguments:
            ending: returns why the run is being stopped; "" if it is not.
        """
        if self.mode != "standard":
            return ""
        if cause := ending():
            self._report(Outcome("checkpoints", self.plan.name, "", "kept", cause))
            return ""
        try:
            deleted = self._delete(lambda: bool(ending()))
        except StateError as error:
            return str(error)
        reason = "the deletion was interrupted" if ending() else "not all resources could be deleted"
        return "" if deleted else f"{reason}; the next run continues it"

    def _complete(self) -> None:
        require_own_deletion(self.state)
        if self.mode == "skip":
            raise StateError(
                "a clean end has begun to delete the topics, and `--resources skip` does not complete that",
                "complete it with `flow run --resources delete-only`",
            )
        if not self._delete(lambda: False):
            raise StateError("resources of an earlier run could not be deleted", _COMPLETE)

    def _delete(self, interrupted: Callable[[], bool]) -> bool:
        deletion = Deletion(plan=self.plan, state=self.state, report=self._report, interrupted=interrupted)
        return deletion.carry_out()

    def _report(self, outcome: Outcome) -> None:
        event = ResourceSettled(time.time(), outcome.resource, outcome.name, outcome.result, outcome.line)
        self.publish(event)

    def _topics(self) -> Mapping[str, TopicResource]:
        try:
            if self.mode == "skip":
                require_topics(required_topics(self.plan, topics_of(self.plan, self.state)).values())
            topics = make_topics(self.plan, self.state)  # with `skip`, it publishes the schemas of writers
            if self.mode == "standard":
                require_deletable(topics.values())
        except TopicDamagedError as error:
            self.log.failure(UnitId(self.plan.name, ""), text_of(error))
            raise StateError(str(error), "") from error
        except (TopicLostError, TopicWriteError, OSError) as error:
            self.log.failure(UnitId(self.plan.name, ""), text_of(error))
            raise StateError(
                f"cannot create the topics: {error}",
                getattr(error, "help", "") or "free disk space, or correct the permissions of the state directory",
            ) from error
        return topics

    def _differences(self, topics: Mapping[str, TopicResource]) -> tuple[TopicDiffers, ...]:
        """Return the differences between existing topics and the plan, or () if a topic cannot be compared."""
        try:
            return tuple(differences_of(required_topics(self.plan, topics).values()))
        except (TopicLostError, TopicDamagedError, OSError) as error:
            self.log.failure(UnitId("topics", ""), text_of(error))
            return ()
