"""`flow dead-letters`: list, show and replay the records that broke a contract, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import counted
from cli.groups import ListedGroup, imports_modules
from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.output.quantities import timestamp
from cli.state import (
    own_state_directory,
    state_directories,
    state_directory,
    state_options,
    topics_of,
    unreadable_topics,
    warn_of_unreadable_topics,
    with_running_settings,
)

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, TopicPlan
    from streamlets.channels.base import TopicResource
    from streamlets.runner.dead_letters.letters import DeadLetter
    from streamlets.runner.dead_letters.replay import Outlets, Replayed
    from streamlets.runner.state_directory.directory import StateDirectory

_NAME = click.argument("name", metavar="STREAMLET[.OUTLET]")
_REASON = click.option("--reason", metavar="TEXT", help="Only records whose reason contains TEXT.")


@click.group("dead-letters", cls=ListedGroup)
def dead_letters() -> None:
    """List, show and replay records that broke a contract.

    A record that does not conform to the schema of an outlet with `on_invalid="dead-letters"` is a dead letter, and so
    is a message that such an inlet cannot decode. These commands also work while the application runs.
    """


@imports_modules("with servers")
@dead_letters.command("list", short_help="Count dead letters by outlet and reason (the default).")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Count the dead letters by outlet and reason, with the number already replayed and the time of the last one.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    from streamlets.runner.dead_letters.letters import tallies

    states = state_directories(path, state_dir, application)
    counts = {state.application: tallies(_all(topics_of(state, path))) for state in states}
    warn_of_unreadable_topics(states)
    if form == "json":
        as_data = {
            name: [
                {
                    "streamlet": tally.streamlet,
                    "outlet": tally.outlet,
                    "reason": tally.reason,
                    "waiting": tally.waiting,
                    "replayed": tally.replayed,
                    "first": tally.first.isoformat(),
                    "last": tally.last.isoformat(),
                }
                for tally in application_tallies
            ]
            for name, application_tallies in counts.items()
        }
        click.echo(json.dumps(as_data, indent=2, ensure_ascii=False))
        return
    from cli.output.tables import print_table

    for state in states:
        name, application_tallies = state.application, counts[state.application]
        if not application_tallies:
            if not unreadable_topics(state):
                click.echo(f"{name}: no dead letters")
            continue
        rows = [
            (tally.port, f"{tally.waiting:,}", f"{tally.replayed:,}", timestamp(tally.last.timestamp()), tally.reason)
            for tally in application_tallies
        ]
        print_table((name, "waiting", "replayed", "last (UTC)", "reason"), rows, right=("waiting", "replayed"))


@imports_modules("with servers")
@dead_letters.command(short_help="Show dead letters and why they broke the contract.")
@_NAME
@path_argument
@state_options
@_REASON
@click.option(
    "-n", "limit", type=click.IntRange(min=1), default=10, show_default=True, help="Number of records to show."
)
@click.option("--all", "replayed_too", is_flag=True, help="Include replayed records.")
@format_option(data="jsonl", help="The output format; jsonl is one JSON object per line.")
def show(
    name: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    reason: str | None,
    limit: int,
    replayed_too: bool,
    form: str,
) -> None:
    """Show the last dead letters of a streamlet, or of one of its outlets.

    Each record is shown as it reached the outlet, with the reason why it does not conform. PATH is the application's
    blueprint or directory (default: the working directory).
    """
    from collections import deque

    state = state_directory(path, state_dir, application)
    chosen = (letter for letter in _named(name, topics_of(state, path)) if replayed_too or not letter.replayed)
    last = deque((letter for letter in chosen if reason is None or reason in letter.reason), limit)
    for letter in last:
        if form == "jsonl":
            click.echo(json.dumps(_as_data(letter), ensure_ascii=False))
        else:
            more = f", version {letter.version}" if letter.version else ""
            more += ", replayed" if letter.replayed else ""
            click.echo(f"{timestamp(letter.time.timestamp())} UTC  {letter.port}, {letter.origin}{more}")
            click.echo(f"  {letter.reason}\n  {letter.record}")
    if not last and form == "text":
        click.echo(f"{name}: no matching dead letters")


@imports_modules()
@dead_letters.command(short_help="Replay dead letters that now conform to their contract.")
@_NAME
@path_argument
@state_options
@_REASON
@click.option("--conf", multiple=True, metavar="FILE", help="Read settings from FILE, as `flow run`; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Show what would be replayed, and write nothing.")
@format_option()
def replay(
    name: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    reason: str | None,
    conf: tuple[str, ...],
    dry_run: bool,
    form: str,
) -> None:
    """Replay the dead letters of a streamlet, or of one of its outlets.

    Records that conform to the outlet's current schema are written to its topic, exactly once, even if a process is
    killed. The others remain dead letters, their current reason is shown, and the exit code is 1. Messages of an inlet
    are replayed if they can be decoded now, the application manages their topic, and no other inlet reads it. While the
    application runs, its version must be able to read the records: `flow upgrade` it first. A topic that was deleted
    after a clean end (`flow run --resources standard`) is created again.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    from streamlets.channels.base import TopicLostError, TopicWriteError
    from streamlets.runner.dead_letters.replay import replay as send
    from streamlets.runner.topics import contracts_of_writers

    state = own_state_directory(path, state_dir, application)
    topics = topics_of(state, path)
    plan = _plan(path, conf, state)
    outlets = _outlets(plan, state, topics)
    next(_named(name, topics))  # Raises an error when there is none.
    _check_deletion(state)
    outdated = _outdated(plan, state)
    results = []
    for topic in _letter_topics(topics):

        def wanted(letter: DeadLetter) -> bool:
            return _is_from(name, letter) and (reason is None or reason in letter.reason)

        try:
            for port in send(topic, outlets, wanted, dry=True).records if outdated else ():
                if port in outdated:
                    fail(
                        f"{state.application} is running a version that cannot read these records: {outdated[port]}",
                        "upgrade it to this version with `flow upgrade`, then replay",
                    )
            deleted = {} if dry_run else _deleted(plan, state, outlets)
            for port in send(topic, outlets, wanted, dry=True).records if deleted else ():
                if (id := outlets.plans[port].topic) in deleted:
                    deleted[id].create(contracts_of_writers(plan, id))
            results.append(send(topic, outlets, wanted, dry=dry_run))
        except (TopicLostError, TopicWriteError, OSError) as error:
            fail(str(error), "run the command again to replay the rest")
    _report(name, results, form, dry=dry_run)
    raise SystemExit(1 if any(result.broken or result.homeless for result in results) else 0)


def _check_deletion(state: StateDirectory) -> None:
    """Require that no topic is about to be deleted with the records that are written to it.

    Raises:
        SystemExit: 1, when a deletion was begun and is not complete.
    """
    from streamlets.runner.resources.deletion import is_begun

    if is_begun(state):
        fail(
            f"the deletion of the topics of {state.application} was begun and is not complete; nothing was replayed",
            "complete it with `flow run --resources delete-only`, then replay",
        )


def _deleted(plan: ApplicationPlan, state: StateDirectory, outlets: Outlets) -> dict[str, TopicResource]:
    """Return the topics that were deleted after a clean end, by id: a replay may create them again.

    A topic of the version that last ran is not one of them: without its records, its readers could not continue.
    """
    from blueprint.comparison import DescriptorError
    from streamlets.runner.deployment import described

    try:
        last = described(state)
    except (DescriptorError, UnicodeDecodeError):  # then it is not known what was deleted
        return {}
    ids = {outlet.topic for outlet in outlets.plans.values()} - set(last.topics if last is not None else ())
    topics = {id: outlets.topic(plan.topic(id).name) for id in sorted(ids)}
    return {id: topic for id, topic in topics.items() if topic.plan.managed and not topic.exists()}


def _report(name: str, results: Sequence[Replayed], form: str, *, dry: bool) -> None:
    """Print the results of a replay; a port may have letters in several topics."""
    from collections import Counter

    records: Counter[str] = Counter()
    broken: Counter[tuple[str, str]] = Counter()
    homeless: Counter[str] = Counter()
    for result in results:
        records.update(result.records)
        broken.update(result.broken)
        homeless.update(result.homeless)
    if form == "json":
        still_broken = [{"port": port, "reason": why, "letters": number} for (port, why), number in broken.items()]
        data = {"done": not dry, "replayed": records, "broken": still_broken, "without_outlet": homeless}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    if not records and not broken and not homeless:
        click.echo(f"{name}: nothing to replay")
    for port, number in records.items():
        click.echo(f"{port}: {'would replay' if dry else 'replayed'} {counted(number, 'record')}")
    for (port, why), number in broken.items():
        click.echo(
            f"{port}: {counted(number, 'record')} still {'break' if number > 1 else 'breaks'} the contract: {why}"
        )
    for port, number in homeless.items():
        streamlet, _, name_of_port = port.rpartition(".")
        why = f"there is no outlet `{port}`, and no inlet `{port}` that alone reads a topic of the application"
        if name_of_port == "tasks":
            why = f"to read failed tasks again, run `flow tasks retry {streamlet}`"
        click.echo(f"{port}: {counted(number, 'record')} not replayed: {why}")


def _plan(path: Path, conf: tuple[str, ...], state: StateDirectory) -> ApplicationPlan:
    """Return the plan of the current version, whose contracts decide which records are replayed.

    Without files of settings, it has the settings of the last run.

    Raises:
        SystemExit: 2, when it has errors.
    """
    from cli.application import Application, blueprint_at
    from cli.verification.findings import refuse

    verification = with_running_settings(Application(blueprint_at(path), conf, ()), state).verify()
    if verification.plan is None:
        refuse(verification)
    return verification.plan


def _outdated(plan: ApplicationPlan, state: StateDirectory) -> dict[str, str]:
    """Return the outlets (`streamlet.outlet`) whose records the running version cannot read, with the reason.

    Without a running version there are none: `flow run` compares the versions itself.
    """
    from blueprint.comparison.contracts import outdated_readers
    from streamlets.runner.deployment import running

    descriptor = running(state)
    if descriptor is None:
        return {}
    return {
        f"{streamlet.ref}.{outlet.name}": f"inlet `{reader}`, {schema.causes[0]}"
        for streamlet in plan.streamlets
        for outlet in streamlet.outlets
        for reader, schema in outdated_readers(descriptor, outlet.topic, outlet.contract)
    }


def _outlets(plan: ApplicationPlan, state: StateDirectory, stored: Iterable[TopicResource]) -> Outlets:
    from streamlets.runner.dead_letters.replay import Outlets
    from streamlets.runner.topics import channels_of

    channels = channels_of(plan, state)
    topics = {topic.plan.name: topic for topic in stored}  # an earlier replay may be carried out first
    topics |= {topic.name: channels[topic.channel].topic(topic) for topic in plan.topics}
    outlets = [outlet for streamlet in plan.streamlets for outlet in streamlet.outlets]
    inlets = [inlet for streamlet in plan.streamlets for inlet in streamlet.inlets]
    outlets += [_back(inlet) for inlet in inlets if _alone(plan.topic(inlet.topic))]
    return Outlets(
        plans={f"{outlet.streamlet}.{outlet.name}": outlet for outlet in outlets},
        topic=topics.__getitem__,
        name=lambda outlet: plan.topic(outlet.topic).name,
    )


def _alone(topic: TopicPlan) -> bool:
    """Return whether records may be written to a topic for one inlet: no other one would read them twice."""
    return topic.managed and len(topic.consumers) == 1


def _back(inlet: InletPlan) -> OutletPlan:
    """Return the way back into an inlet as an outlet to its topic."""
    from blueprint.plan import OutletPlan

    return OutletPlan(inlet.streamlet, inlet.name, inlet.attribute, inlet.contract, inlet.topic)


def _letter_topics(topics: Iterable[TopicResource]) -> list[TopicResource]:
    from streamlets.runner.dead_letters.letters import holds_dead_letters

    return [topic for topic in topics if holds_dead_letters(topic)]


def _all(topics: Iterable[TopicResource]) -> Iterator[DeadLetter]:
    from streamlets.runner.dead_letters.letters import letters_in

    for topic in _letter_topics(topics):
        yield from letters_in(topic)


def _is_from(name: str, letter: DeadLetter) -> bool:
    """Return whether a dead letter is from the streamlet or outlet with this name."""
    return name in (letter.streamlet, letter.port)


def _named(name: str, topics: Iterable[TopicResource]) -> Iterator[DeadLetter]:
    """Yield the dead letters of a streamlet or of one of its outlets, replayed or not.

    Raises:
        click.UsageError: there is none.
    """
    from blueprint.spelling import suggestion

    known: dict[str, None] = {}
    exists = False
    for letter in _all(topics):
        known |= dict.fromkeys((letter.streamlet, letter.port))
        if _is_from(name, letter):
            exists = True
            yield letter
    if not exists:
        hint = suggestion(name, known, f"these have some: {', '.join(known)}" if known else "there are none at all")
        raise click.UsageError(f"there are no dead letters of `{name}`; {hint}")


def _as_data(letter: DeadLetter) -> dict[str, object]:
    return {
        "port": letter.port,
        "reason": letter.reason,
        "record": json.loads(letter.record),
        "query": letter.query,
        "batch": int(letter.batch) if letter.batch.isdigit() else letter.batch,
        "coordinates": letter.coordinates,
        "time": letter.time.isoformat(),
        "version": letter.version,
        "replayed": letter.replayed,
        "place": f"{letter.place.position}#{letter.place.number}",
    }
