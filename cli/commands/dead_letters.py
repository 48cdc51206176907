"""`flow dead-letters`: the records that broke a contract: counted, shown, and replayed once they keep it; no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.following import fail
from cli.groups import ListedGroup
from cli.output.formats import format_option
from cli.output.quantities import count, moment
from cli.state import path_argument, state_directories, state_directory, state_options, topics_of

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from streamlets.channels.delta import DeltaTopic
    from streamlets.runner.dead_letters.letters import DeadLetter
    from streamlets.runner.dead_letters.replay import Outlets, Replayed
    from streamlets.runner.state_directory.directory import StateDirectory

_NAME = click.argument("name", metavar="STREAMLET[.OUTLET]")
_REASON = click.option("--reason", metavar="TEXT", help="Only those whose reason has this in it.")


@click.group("dead-letters", cls=ListedGroup)
def dead_letters() -> None:
    """Count, show and replay records that broke the contract of an outlet with `on_invalid="dead-letters"`.

    The application may be running.
    """


@dead_letters.command("list", short_help="Count them by outlet and reason.")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Count dead letters by outlet and reason: how many wait, how many were replayed, when the last one came."""
    from streamlets.runner.dead_letters.letters import tallies

    found = {state.application: tallies(_all(state)) for state in state_directories(path, state_dir, application)}
    if form == "json":
        as_data = {
            name: [
                {
                    "streamlet": each.streamlet,
                    "outlet": each.outlet,
                    "reason": each.reason,
                    "waiting": each.waiting,
                    "replayed": each.replayed,
                    "first": each.first.isoformat(),
                    "last": each.last.isoformat(),
                }
                for each in counted
            ]
            for name, counted in found.items()
        }
        click.echo(json.dumps(as_data, indent=2, ensure_ascii=False))
        return
    from cli.output.tables import print_table

    for name, counted in found.items():
        if not counted:
            click.echo(f"{name}: no dead letters")
            continue
        rows = [
            (each.port, f"{each.waiting:,}", f"{each.replayed:,}", moment(each.last.timestamp()), each.reason)
            for each in counted
        ]
        print_table((name, "waiting", "replayed", "last (UTC)", "reason"), rows, right=("waiting", "replayed"))


@dead_letters.command(short_help="Show the records, with their reasons.")
@_NAME
@path_argument
@state_options
@_REASON
@click.option("-n", "most", type=click.IntRange(min=1), default=10, show_default=True, help="How many of the last.")
@click.option("--all", "replayed_too", is_flag=True, help="Also those that were replayed.")
@format_option(data="jsonl", help="For the eye, or a JSON object a line.")
def show(
    name: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    reason: str | None,
    most: int,
    replayed_too: bool,
    form: str,
) -> None:
    """Show the last dead letters of a streamlet, or of one of its outlets: the record as it came, and why."""
    from collections import deque

    state = state_directory(path, state_dir, application)
    chosen = (letter for letter in _named(name, state) if replayed_too or not letter.replayed)
    last = deque((letter for letter in chosen if reason is None or reason in letter.reason), most)
    for letter in last:
        if form == "jsonl":
            click.echo(json.dumps(_as_data(letter), ensure_ascii=False))
        else:
            replayed = ", replayed" if letter.replayed else ""
            batch = f"{letter.query} batch {letter.batch}"
            click.echo(f"{moment(letter.time.timestamp())} UTC  {letter.port}, {batch}{replayed}")
            click.echo(f"  {letter.reason}\n  {letter.record}")
    if not last and form == "table":
        click.echo(f"{name}: no dead letters of that kind")


@dead_letters.command(short_help="Write those that keep the contract by now to their topic.")
@_NAME
@path_argument
@state_options
@_REASON
@click.option("--conf", multiple=True, metavar="FILE", help="A file of settings, as for `flow run`.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
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
    """Send the dead letters of a streamlet, or of one outlet, through the outlet once more.

    Those that keep its contract as the blueprint now has it are written to its topic, each once, whatever is killed
    meanwhile. The others stay, with today's reason; then the exit code is 1.
    """
    from streamlets.channels.base import TopicLostError, TopicWriteError
    from streamlets.runner.dead_letters.replay import replay as send

    state = state_directory(path, state_dir, application)
    outlets = _outlets(_plan(path, conf), state)
    next(_named(name, state))  # there is one, or it is said that there is none
    total = []
    for topic in _letter_topics(state):
        try:
            total.append(
                send(
                    topic,
                    outlets,
                    lambda letter: _meant(name, letter) and (reason is None or reason in letter.reason),
                    dry=dry_run,
                )
            )
        except (TopicLostError, TopicWriteError, OSError) as error:
            fail(str(error), "the rest follows when it is done again")
    _report(name, total, form, dry=dry_run)
    raise SystemExit(1 if any(each.broken or each.homeless for each in total) else 0)


def _report(name: str, total: Sequence[Replayed], form: str, *, dry: bool) -> None:
    from collections import Counter

    records: Counter[str] = Counter()
    broken: Counter[tuple[str, str]] = Counter()
    homeless: Counter[str] = Counter()
    for each in total:  # a port may have letters in several topics
        records.update(each.records)
        broken.update(each.broken)
        homeless.update(each.homeless)
    if form == "json":
        still = [{"port": port, "reason": why, "letters": number} for (port, why), number in broken.items()]
        found = {"done": not dry, "replayed": records, "broken": still, "without_outlet": homeless}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    if not records and not broken and not homeless:
        click.echo(f"{name}: nothing to replay")
    for port, number in records.items():
        click.echo(f"{port}: {'would replay' if dry else 'replayed'} {count(number, 'record')}")
    for (port, why), number in broken.items():
        click.echo(f"{port}: {count(number, 'record')} still {'break' if number > 1 else 'breaks'} the contract: {why}")
    for port, number in homeless.items():
        click.echo(f"{port}: {count(number, 'record')} stay: the application has no such outlet")


def _plan(path: Path, conf: tuple[str, ...]) -> ApplicationPlan:
    """The application as it now is: which contract holds decides what is replayed."""
    from cli.application import Application, blueprint_at
    from cli.verifying import refuse

    verification = Application(blueprint_at(path), conf, ()).verify()
    if verification.plan is None:
        refuse(verification)
    return verification.plan


def _outlets(plan: ApplicationPlan, state: StateDirectory) -> Outlets:
    from blueprint.plan import TopicPlan
    from streamlets.channels.delta import DeltaChannel
    from streamlets.runner.dead_letters.replay import Outlets

    channel = DeltaChannel(state.topics)
    plans = {
        f"{outlet.streamlet}.{outlet.name}": outlet
        for streamlet in plan.streamlets
        for outlet in streamlet.outlets
        if plan.topic(outlet.topic).channel == channel.name
    }
    return Outlets(
        plans=plans,
        topic=lambda name: channel.topic(TopicPlan(name, name, channel.name, False, (), (), {})),
        name=lambda outlet: plan.topic(outlet.topic).name,
    )


def _letter_topics(state: StateDirectory) -> list[DeltaTopic]:
    from streamlets.runner.dead_letters.letters import holds_dead_letters

    return [topic for topic in topics_of(state) if holds_dead_letters(topic)]


def _all(state: StateDirectory) -> Iterator[DeadLetter]:
    from streamlets.runner.dead_letters.letters import letters_in

    for topic in _letter_topics(state):
        yield from letters_in(topic)


def _meant(name: str, letter: DeadLetter) -> bool:
    return name in (letter.streamlet, letter.port)


def _named(name: str, state: StateDirectory) -> Iterator[DeadLetter]:
    """The dead letters of a streamlet or of one of its outlets.

    Raises:
        click.UsageError: there has never been one, but there are others.
    """
    from blueprint.spelling import suggestion

    known: dict[str, None] = {}
    found = False
    for letter in _all(state):
        known |= dict.fromkeys((letter.streamlet, letter.port))
        if _meant(name, letter):
            found = True
            yield letter
    if not found:
        hint = suggestion(name, known, f"there are some of: {', '.join(known) or 'none'}")
        raise click.UsageError(f"there are no dead letters of `{name}`; {hint}")


def _as_data(letter: DeadLetter) -> dict[str, object]:
    return {
        "port": letter.port,
        "reason": letter.reason,
        "record": json.loads(letter.record),
        "query": letter.query,
        "batch": int(letter.batch) if letter.batch.isdigit() else letter.batch,
        "time": letter.time.isoformat(),
        "version": letter.version,
        "replayed": letter.replayed,
        "place": f"{letter.place.position}#{letter.place.number}",
    }
