"""Deleting the resources of an application: its checkpoints, its topics, its consumer groups, and its files.

A topic that is deleted while a checkpoint of a reader exists stops the reader, and a topic that is kept without the
checkpoints of its readers is read again. So a file records the decision before anything is deleted, and is removed when
all is done: the next owner of the state directory completes a deletion that was begun, whatever it was started for.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from blueprint.catalog import UsedSink
from blueprint.plan import ApplicationPlan, TopicPlan
from blueprint.wording import counted
from streamlets.channels.base import TopicResource
from streamlets.channels.waiting import unavailable
from streamlets.checks import Check
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.dead_letters.letters import waiting_letters
from streamlets.runner.dead_letters.replay import settle
from streamlets.runner.deployment import keep_last_run, store_descriptor
from streamlets.runner.resources.outcome import ERRORS, Outcome, attempt
from streamlets.runner.state_directory.directory import StateDirectory, StateError
from streamlets.runner.topics import channels_of, described_topics, stored_channels
from streamlets.storage.crash import crash_point
from streamlets.storage.files import write_atomically

_DISCOVERY = "discovery"


def is_begun(state: StateDirectory) -> bool:
    """Return whether a deletion was begun and is not complete."""
    return state.deletion_file.exists()


def require_own_deletion(state: StateDirectory) -> None:
    """Require that a begun deletion is one of this application.

    Raises:
        StateError: the file that records it is damaged, or from elsewhere.
    """
    try:
        content = json.loads(state.deletion_file.read_text(encoding="utf-8"))
        valid = content["application"] == state.application
    except (OSError, ValueError, KeyError, TypeError):
        valid = False
    if not valid:
        raise StateError(
            f"the file {state.deletion_file}, which records that the topics and checkpoints of {state.application} are "
            "being deleted, is damaged or from another application",
            "delete the file to use what is left, or begin again with `flow run --fresh`",
        )


def topics_of_application(plan: ApplicationPlan, state: StateDirectory) -> tuple[TopicResource, ...]:
    """Return the topics of an application, and those that earlier versions have created on servers.

    A directory that is not in the blueprint is not one of them: it may have been external.

    Arguments:
        plan: the application.
        state: its state directory.
    """
    topics: list[TopicResource] = []
    for name, channel in sorted((stored_channels(state) | channels_of(plan, state)).items()):
        planned = [channel.topic(topic) for topic in plan.topics if topic.channel == name]
        topics += planned
        if channel.traits.administration:
            topics += channel.unused([topic.plan for topic in planned])
    return tuple(topics)


def reason_to_keep(topic: TopicResource) -> tuple[str, str]:
    """Return why a topic is not deleted, and what to do about it; empty if it is deleted.

    Raises:
        TopicLostError, OSError: the topic cannot be read.
    """
    if not topic.plan.managed:
        return "it is external (`managed = no`)", ""
    if not topic.traits.deletes:
        return f"the channel `{topic.plan.channel}` does not delete topics", ""
    if not topic.exists():
        return "", ""
    if not topic.created:
        return "this application has not created it", ""
    if waiting := waiting_letters(topic):
        help = f"see `flow dead-letters`; `flow topics purge {topic.plan.name} --all` deletes them"
        return f"it has {counted(waiting, 'dead letter that waits', 'dead letters that wait')}", help
    return "", ""


def survey(plan: ApplicationPlan, state: StateDirectory) -> Iterator[tuple[Outcome, TopicResource | None]]:
    """Yield the resources of an application, each with the result of a deletion that does nothing.

    It is `exists` if the resource would be deleted, `kept`, or `failed` if that is not known.

    Arguments:
        plan: the application.
        state: its state directory.

    Yields:
        The outcome, and the topic if it is about one.
    """
    checkpoints = len(checkpoints_in(state.checkpoints))
    if checkpoints:
        yield Outcome("checkpoints", counted(checkpoints, "query", "queries"), "", "exists"), None
    topics = topics_of_application(plan, state)
    failed = unavailable([topic.plan for topic in topics], lambda servers: None, patience=0)
    for topic in topics:
        outcome = Outcome("topic", topic.plan.name, topic.plan.channel, "exists")
        if check := failed.get((topic.plan.channel, topic.plan.location)):
            yield replace(outcome, result="failed", detail=check.detail, help=check.help), topic
            continue
        try:
            reason, help = reason_to_keep(topic)
            if reason:
                yield replace(outcome, result="kept", detail=reason, help=help), topic
            elif topic.exists():
                records = topic.summary().records
                yield replace(outcome, detail=counted(records, "record") if records is not None else ""), topic
        except ERRORS as error:
            yield outcome.failed(error), topic
    for outcome in _not_in_blueprint(plan, state, {(topic.plan.channel, topic.plan.name) for topic in topics}):
        yield outcome, None
    for streamlet in plan.streamlets:
        for written in streamlet.descriptor.external.directories:
            if not written.checkpoint:
                yield Outcome("directory", written.directory, "", "kept", f"`{streamlet.ref}` writes it"), None
        for used in streamlet.descriptor.external.sinks:
            if table := _table_of(used):
                yield Outcome("table", table, "", "kept", f"`{streamlet.ref}` writes it"), None


def _not_in_blueprint(plan: ApplicationPlan, state: StateDirectory, known: set[tuple[str, str]]) -> Iterator[Outcome]:
    """Yield the topics of earlier versions and of other settings, which are kept.

    Arguments:
        plan: the application.
        state: its state directory.
        known: the channels and names of the topics that it has.
    """
    channels = stored_channels(state) | channels_of(plan, state)
    local = {name: topics for name, channel in channels.items() if (topics := channel.topics()) is not None}
    stored = {(name, topic) for name, topics in local.items() for topic in topics}
    on_servers = {(name, topic) for name, topic, _ in described_topics(state) if name not in local}
    used = {topic.channel for topic in plan.topics}
    for name, topic in sorted((stored | on_servers) - known):
        help = "`flow run --fresh` deletes it" if name in local else ""
        if name in used:
            reason = "it is not in the blueprint"
        elif name in channels:
            reason = f"it is on the channel `{name}`, which the application does not use with these settings"
            help = "; ".join(filter(None, ("delete it with the settings that it was written with", help)))
        else:
            reason = f"no installed package has its channel `{name}`"
            help = "install the package, and delete the topic with the settings that it was written with"
        yield Outcome("topic", topic, name, "kept", reason, help)


def _table_of(used: UsedSink) -> str:
    """Return the table that a sink writes; "" if it writes none, or a directory."""
    if "table" in used.options:
        return str(used.options["table"])
    return str(used.options.get("url") or "") if used.sink == "delta" else ""


def refusing_sinks(plan: ApplicationPlan) -> tuple[str, ...]:
    """Return the streamlets with a sink that appends, and refuses that after its checkpoint was deleted.

    Arguments:
        plan: the application.
    """
    return tuple(
        streamlet.ref
        for streamlet in plan.streamlets
        if any(
            used.options.get("existing") == "fail" and not used.options.get("keys")
            for used in streamlet.descriptor.external.sinks
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """The deletion of what an application has stored. To be carried out by the owner of its state directory.

    Arguments:
        plan: the application.
        state: its state directory.
        report: takes the outcome of each resource.
        interrupted: returns whether to stop; the next owner continues.
    """

    plan: ApplicationPlan
    state: StateDirectory
    report: Callable[[Outcome], None]
    interrupted: Callable[[], bool] = lambda: False

    def carry_out(self) -> bool:
        """Delete everything, or continue to; return whether nothing is left to delete.

        Raises:
            StateError: the decision cannot be written.
        """
        state = self.state
        if not is_begun(state):
            self._begin()
        crash_point("after-deletion-decided")
        complete = self._succeeds(Outcome("checkpoints", state.application, "", "deleted"), state.delete_checkpoints)
        if not complete:
            return False
        crash_point("after-checkpoints-deleted")
        topics = topics_of_application(self.plan, state)
        for channel in (stored_channels(state) | channels_of(self.plan, state)).values():
            channel.forget_all()
        kept = self._delete_topics(topics)
        if kept is None:
            return False
        files = attempt(Outcome("files", "of spouts and batch sources", "", "deleted"), self._delete_files)
        if files.result == "failed":
            self.report(files)
            return False
        crash_point("after-topics-deleted")
        described = attempt(Outcome("files", "of the status", "", "kept"), lambda: keep_last_run(state))
        if described.result == "failed":
            self.report(described)
            return False
        if kept:  # commands find the topics of servers by it
            store_descriptor(state, replace(self.plan, streamlets=(), topics=kept))
        else:
            state.descriptor_file.unlink(missing_ok=True)
        state.previous_descriptor_file.unlink(missing_ok=True)
        crash_point("after-descriptor-deleted")
        state.deletion_file.unlink()
        return True

    def _begin(self) -> None:
        content = json.dumps({"application": self.state.application, "decided": time.time()})
        try:
            write_atomically(self.state.deletion_file, content, durable=True)
        except OSError as error:
            raise StateError(
                f"nothing was deleted: cannot write {self.state.deletion_file}: {error.strerror or error}",
                "free disk space or correct the permissions, then delete with `flow run --resources delete-only`",
            ) from error

    def _delete_topics(self, topics: tuple[TopicResource, ...]) -> tuple[TopicPlan, ...] | None:
        """Delete topics and consumer groups; return those that the application keeps, or None if something is left."""
        failed = unavailable([topic.plan for topic in topics], lambda servers: None, patience=0)
        planned = {topic.id: topic for topic in self.plan.topics}
        complete, kept = True, []
        for topic in topics:
            if self.interrupted():
                return None
            outcome = self._deleted(topic, failed.get((topic.plan.channel, topic.plan.location)))
            self.report(outcome)
            complete &= outcome.result != "failed"
            if outcome.result == "kept" and topic.plan.managed and topic.plan.id in planned:
                kept.append(replace(planned[topic.plan.id], producers=(), consumers=()))
            crash_point("after-topic-deleted")
            if outcome.result == "kept" and topic.traits.shows_progress:
                for group, forget in self._groups(topic):
                    forgotten = attempt(group, forget)
                    # No run depends on a group: one that stays must not keep the next run from starting.
                    self.report(replace(forgotten, result="kept") if forgotten.result == "failed" else forgotten)
        return tuple(kept) if complete else None

    def _deleted(self, topic: TopicResource, unavailable: Check | None) -> Outcome:
        """Delete a topic unless there is a reason to keep it."""
        outcome = Outcome("topic", topic.plan.name, topic.plan.channel, "deleted")
        if unavailable is not None:
            return replace(outcome, result="failed", detail=unavailable.detail, help=unavailable.help)
        reason = help = ""

        def delete() -> None:
            nonlocal reason, help
            reason, help = reason_to_keep(topic)
            if not reason:
                topic.delete()
            elif topic.plan.managed:
                settle(topic)

        outcome = attempt(outcome, delete)
        return outcome if not reason else replace(outcome, result="kept", detail=reason, help=help)

    def _groups(self, topic: TopicResource) -> Iterator[tuple[Outcome, Callable[[], None]]]:
        """Yield the consumer groups of a topic that is kept; the offsets of a deleted topic are deleted with it."""
        for inlet in self.plan.inlets_of(topic.plan.id):
            group = f"{self.plan.name}.{inlet.streamlet}.{inlet.name}"

            def forget(group: str = group) -> None:
                topic.forget_reader(group)

            yield Outcome("consumer group", group, topic.plan.channel, "deleted"), forget

    def _delete_files(self) -> None:
        """Delete what spouts and batch sources have stored beside their topics, except for the leases of spouts.

        A lease has the epoch of a spout, which must not become lower while a topic of dead letters has it.
        """
        for directory in (self.state.staging, self.state.directory / _DISCOVERY):
            if directory.exists():
                shutil.rmtree(directory)
        for report in self.state.spouts.glob("*/report"):
            report.unlink(missing_ok=True)

    def _succeeds(self, outcome: Outcome, work: Callable[[], None]) -> bool:
        """Do work, and report its outcome; return whether it did not fail."""
        reached = attempt(outcome, work)
        self.report(reached)
        return reached.result != "failed"
