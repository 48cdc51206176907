"""Carrying out a backfill: its definition, the runs over its warm-up and its range, and its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.plan import ApplicationPlan
from streamlets.backfills.model import Backfill, BackfillError, Phase, Request, Result
from streamlets.backfills.plan import backfill_plan, streamlet_of
from streamlets.backfills.ranges import ranges_of
from streamlets.backfills.results import file_of, hand_over, new_topic
from streamlets.backfills.store import Store
from streamlets.backfills.warm_up import WarmUp, warm_up
from streamlets.channels.base import Position
from streamlets.runner.deployment import descriptor_text, with_version
from streamlets.runner.events.event import Event
from streamlets.runner.events.run_events import RunEnded
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View
from streamlets.runner.run import RunOptions, run
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import topics_of
from streamlets.storage.crash import crash_point

OpenViews = Callable[[ApplicationPlan, StateDirectory], Sequence[View]]
"""Returns the views of a run, the output first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilling:
    """Carries out backfills of an application.

    Arguments:
        plan: the application.
        store: its backfills.
        master: Spark's master; None for the plan's setting.
        drain_within: seconds after which a drain becomes an immediate stop.
        views: opens the views of a run.
        say: takes a line for people, before and after the runs.
    """

    plan: ApplicationPlan
    store: Store
    master: str | None
    drain_within: float
    views: OpenViews
    say: Callable[[str], None]

    def carry_out(self, name: str, request: Request, *, again: bool = False) -> Backfill | None:
        """Begin a backfill, or continue it where it was interrupted.

        Arguments:
            name: its name.
            request: what is asked for.
            again: whether to begin again with a backfill of this name.

        Returns:
            The backfill, which is done; None if it was stopped before.

        Raises:
            BackfillError: it is not possible, or its run failed.
            TopicLostError, StateError, SessionError, OSError: as for a run.
        """
        with self.store.owned(name):
            before = self.store.read(name)
            known = None if again else before
            if known is not None:
                self._require_same(known, request)
                if known.phase == "done":
                    self.say(f"{name}: it was done already; `--again` repeats it")
                    return known
                self.say(f"{name}: continues with the {known.phase}")
            else:
                known = self._begin(name, request, replacing=before is not None and before.request.into == request.into)
            return self._continue(known)

    def _require_same(self, known: Backfill, request: Request) -> None:
        """Require that a backfill is what was asked for before, by the same version of the application.

        Raises:
            BackfillError: it is not.
        """
        if known.request != request:
            raise BackfillError(
                f"the backfill `{known.name}` has another range, streamlet or target",
                "repeat its arguments, choose another name with `--name`, or begin again with `--again`",
            )
        if known.phase != "done" and known.version != self._version(request.streamlet):
            raise BackfillError(
                f"the application has changed since the backfill `{known.name}` began",
                "begin again with `--again`, or restore the version before",
            )

    def _version(self, streamlet: str) -> str:
        return with_version(self.plan).streamlet(streamlet).version

    def _begin(self, name: str, request: Request, *, replacing: bool) -> Backfill:
        """Determine the range of a backfill, keep its records, and store it.

        Arguments:
            name: its name.
            request: what is asked for.
            replacing: whether its files replace the files of an earlier backfill.
        """
        streamlet = streamlet_of(self.plan, request.streamlet)
        plan = backfill_plan(self.plan, streamlet)
        _require_free(self.plan, plan, self.store.state, replace(request, into="") if replacing else request)
        sources = topics_of(self.plan, self.store.state)
        topics = {inlet.name: sources[inlet.topic] for inlet in streamlet.inlets}
        now = time.time()
        ranges_of(request, topics, WarmUp(), now)  # what is wrong is reported before Spark starts
        needed = warm_up(plan)
        if request.warm_up is not None:
            needed = WarmUp(request.warm_up, "`--warm-up`")
        ranges, said = ranges_of(request, topics, needed, now)
        self.store.clear(name)
        work = self.store.work(name)
        work.topics.mkdir(parents=True)
        for topic in plan.topics:
            if not topic.managed:
                sources[topic.id].snapshot(work.topics / topic.name)
        ranges_of(request, topics, WarmUp(), now)  # nothing of it was deleted before the snapshot
        backfill = Backfill(
            name=name, request=request, version=self._version(request.streamlet), created=time.time(), ranges=ranges,
            warm_up=said, phase="warm-up" if said else "range",
            results={topic.id: Result() for topic in plan.topics if topic.managed},
        )  # fmt: skip
        self.store.write(backfill)
        crash_point("after-backfill-definition")
        self.say(f"{name}: {backfill.records:,} records of {', '.join(sorted({t.plan.id for t in topics.values()}))}")
        if said:
            self.say(f"{name}: it begins with {said}")
        return backfill

    def _continue(self, backfill: Backfill) -> Backfill | None:
        plan = backfill_plan(self.plan, streamlet_of(self.plan, backfill.request.streamlet))
        work = self.store.work(backfill.name)
        topics = topics_of(plan, work)
        if backfill.phase == "warm-up":
            if not self._run(plan, backfill):
                return None
            results = {id: Result(after=topics[id].end().json) for id in backfill.results}
            backfill = self._stored(backfill, "range", results)
        if backfill.phase == "range":
            if not self._run(plan, backfill):
                return None
            backfill = self._stored(backfill, "results", backfill.results)
        results = hand_over(self.store.state, plan, topics, backfill)
        done = replace(self._stored(backfill, "done", results), ended=time.time())
        self.store.write(done)
        letters = plan.streamlets[0].dead_letters
        if done.request.into or (done.request.topic and not (letters and results[letters].records)):
            self.store.release(done.name)
        return done

    def _stored(self, backfill: Backfill, phase: Phase, results: Mapping[str, Result]) -> Backfill:
        """Store that the next phase of a backfill begins."""
        crash_point("before-backfill-phase")
        backfill = replace(backfill, phase=phase, results=results)
        if phase != "done":
            self.store.write(backfill)
        crash_point("after-backfill-phase")
        return backfill

    def _run(self, plan: ApplicationPlan, backfill: Backfill) -> bool:
        """Run the streamlet over the warm-up or the range; return whether it has read all of it.

        Raises:
            BackfillError: the run failed.
        """
        work, topics = self.store.work(backfill.name), topics_of(plan, self.store.work(backfill.name))
        for inlet in plan.streamlets[0].inlets:
            own = backfill.ranges[inlet.name]
            end = own.begin if backfill.phase == "warm-up" else own.end
            assert end is not None  # there is nothing before the beginning of a topic
            topics[inlet.topic].limit(_position(own.start), Position(end))
        if not any(own.records + own.warm_up_records for own in backfill.ranges.values()):
            for id in backfill.results:
                topics[id].create(())
            return True
        end_of_run = _End()
        views = self.views(plan, work)
        options = RunOptions(
            state=work, master=self.master, isolation="none", bounded=True, resources="keep",
            drain_within=self.drain_within, compared=descriptor_text(work),
        )  # fmt: skip
        code, _ = run(plan, options, (*views, end_of_run), views[0].print_line)
        if code:
            raise BackfillError(
                f"`{backfill.request.streamlet}` failed: {end_of_run.reason}",
                f"the causes are in {work.logs}; the same command continues",
                refused=False,
            )
        return not end_of_run.reason


class _End(View):
    """Keeps why a run ended: "" if all queries have read everything."""

    reason = ""

    def event(self, event: Event, status: RunStatus) -> None:
        if isinstance(event, RunEnded):
            self.reason = event.reason


def _position(json: str | None) -> Position | None:
    return Position(json) if json is not None else None


def _require_free(plan: ApplicationPlan, alone: ApplicationPlan, state: StateDirectory, request: Request) -> None:
    """Require that what a backfill will create does not exist.

    Raises:
        BackfillError: a file or a topic exists.
    """
    written = [topic for topic in alone.topics if topic.managed]
    for topic in written if request.into else ():
        if (file := file_of(Path(request.into), topic.id)).exists():
            raise BackfillError(f"{file} exists", "choose another directory with `--into`, or remove the file")
    if not request.topic:
        return
    outlets = {outlet.topic for outlet in alone.streamlets[0].outlets}
    if len(outlets) > 1:
        raise BackfillError(
            f"`{request.streamlet}` writes {len(outlets)} topics, which are {', '.join(sorted(outlets))}",
            "write all of them as files, with `--into DIRECTORY`",
        )
    if (
        any(request.topic in (topic.id, topic.name) for topic in plan.topics)
        or new_topic(state, request.topic).exists()
    ):
        raise BackfillError(f"the topic `{request.topic}` exists", "choose the name of a new topic")
