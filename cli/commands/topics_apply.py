"""`flow topics apply`: make the topics of an application as the blueprint sets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from blueprint.wording import counted
from cli.application import application as application_of
from cli.application import application_arguments
from cli.groups import imports_modules
from cli.options import DirectoryType, format_option
from cli.output.errors import fail
from cli.state import require_own, with_running_settings

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from streamlets.channels.base import Channel, Difference, TopicResource

Action = Literal["create", "alter", "delete"]

_DONE = {"create": "created", "alter": "altered", "delete": "deleted"}


@dataclass(frozen=True, slots=True)
class _Change:
    """What is to be done with a topic.

    Arguments:
        topic: its name.
        channel: the name of its channel.
        action: what to do.
        differences: what is not as planned; those that are not alterable remain.
        records: with `delete`: the number of its records.
        carry_out: does it.
    """

    topic: str
    channel: str
    action: Action
    differences: tuple[Difference, ...] = ()
    records: int = 0
    carry_out: Callable[[], None] = lambda: None

    @property
    def alterable(self) -> tuple[Difference, ...]:
        """The differences that can be removed."""
        return tuple(difference for difference in self.differences if difference.alterable)

    @property
    def effective(self) -> bool:
        """Whether anything can be done."""
        return self.action != "alter" or bool(self.alterable)

    @property
    def risky(self) -> bool:
        """Whether it may delete records, or cannot be undone."""
        return self.action == "delete" or any(difference.warning for difference in self.alterable)


@imports_modules()
@click.command(short_help="Create and alter topics as the blueprint sets them.")
@application_arguments
@click.option(
    "--state-dir", type=DirectoryType(path_type=Path), metavar="DIRECTORY",
    help="The parent directory of the applications' state (default: .flow next to the blueprint).",
)  # fmt: skip
@click.option("--delete-unused", is_flag=True, help="Delete topics that the application created and no longer has.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@format_option()
def apply(
    arguments: Sequence[str],
    conf: Sequence[str],
    state_dir: Path | None,
    delete_unused: bool,
    dry_run: bool,
    yes: bool,
    form: str,
) -> None:
    """Create the missing topics of an application, and alter topics that differ from the blueprint.

    Only topics that the application manages are altered. The command asks for confirmation before it does what may
    delete records or cannot be undone. With --delete-unused, topics that an earlier version of the application created
    and the blueprint no longer has are deleted with all their records; the application must not be running.

    PATH is a blueprint or its directory (default: the working directory). Without settings, the settings of the last
    run apply. The exit code is 1 if differences remain, as they always do with --dry-run.
    """
    from cli.verification.findings import refuse
    from streamlets.channels.base import ChannelUnavailableError, TopicLostError
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory, StateError
    from streamlets.runner.topics import channels_of

    app = application_of(arguments, conf)
    state = StateDirectory(state_dir or app.directory / STATE_DIRECTORY, app.name or "")
    verification = with_running_settings(app, state).verify()
    if verification.plan is None:
        refuse(verification)
    plan = verification.plan
    state = StateDirectory(state_dir or app.directory / STATE_DIRECTORY, plan.name)
    try:
        channels = channels_of(plan, state)
        topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
        changes = [*_changes(plan, topics), *_deletions(plan, channels)]
        skipped = [] if delete_unused else [change for change in changes if change.action == "delete"]
        chosen = [change for change in changes if change not in skipped and change.effective]
        if form == "text":
            _describe(changes, skipped, plan.name)
        if not dry_run and chosen:
            require_own(state)
            _confirm(chosen, yes, shown=form == "text")
            deleting = any(change.action == "delete" for change in chosen)
            with state.locked() if deleting else nullcontext():
                for change in chosen:
                    change.carry_out()
                    if form == "text":
                        click.echo(f"{change.topic}: {_DONE[change.action]}")
    except StateError as error:
        fail(str(error), error.help)
    except (ChannelUnavailableError, TopicLostError) as error:
        fail(str(error))
    if form == "json":
        _print_json(changes, [] if dry_run else chosen, plan.name)
    remaining = any(len(change.alterable) < len(change.differences) for change in changes)
    raise SystemExit(1 if remaining or (dry_run and chosen) else 0)


def _changes(plan: ApplicationPlan, topics: dict[str, TopicResource]) -> Iterator[_Change]:
    """Yield the changes that make the existing topics match the blueprint.

    Raises:
        TopicLostError: an external topic does not exist that no streamlet waits for, or a topic is not the one that the
            application first used.
    """
    from streamlets.channels.base import TopicLostError
    from streamlets.channels.waiting import required_topics
    from streamlets.runner.topics import contracts_of_writers

    for id, topic in required_topics(plan, topics).items():
        name, channel = topic.plan.name, topic.plan.channel
        if topic.plan.managed and not topic.exists():
            create = partial(topic.create, contracts_of_writers(plan, id))
            yield _Change(name, channel, "create", carry_out=create)
            continue
        if not topic.exists():
            raise TopicLostError(f"the topic `{name}` does not exist, and {plan.name} does not manage it")
        if found := topic.differences():
            change = _Change(name, channel, "alter", found)
            yield replace(change, carry_out=partial(topic.alter, change.alterable))


def _deletions(plan: ApplicationPlan, channels: dict[str, Channel]) -> Iterator[_Change]:
    """Yield the topics that the application no longer has."""
    from streamlets.channels.base import TopicLostError

    for name, channel in channels.items():
        for topic in channel.unused([topic for topic in plan.topics if topic.channel == name]):
            try:
                records = topic.summary().records
            except TopicLostError:  # it was deleted otherwise
                records = 0
            yield _Change(topic.plan.name, name, "delete", records=records, carry_out=topic.delete)


def _describe(changes: Sequence[_Change], skipped: Sequence[_Change], application: str) -> None:
    """Print what differs, and what would be done."""
    if not changes:
        click.echo(f"{application}: all topics are as the blueprint sets them")
    for change in changes:
        match change.action:
            case "create":
                click.echo(f"{change.topic}: does not exist")
            case "delete":
                kept = "; --delete-unused deletes the topic" if change in skipped else ""
                click.echo(
                    f"{change.topic}: no longer in the blueprint, with {counted(change.records, 'record')}{kept}"
                )
            case "alter":
                for difference in change.differences:
                    note = difference.warning or difference.help
                    click.echo(f"{change.topic}: {difference}" + (f"\n  {note}" if note else ""))


def _confirm(chosen: Sequence[_Change], yes: bool, *, shown: bool) -> None:
    """Ask for confirmation of what may delete records or cannot be undone.

    Raises:
        click.UsageError: the standard input is not a terminal.
    """
    risky = ", ".join(change.topic for change in chosen if change.risky)
    if yes or not risky:
        return
    if not sys.stdin.isatty() or not shown:
        raise click.UsageError(
            f"nothing was changed; add --yes to confirm what cannot be undone or may delete records of: {risky}"
        )
    click.confirm("Apply?", abort=True, err=True)


def _print_json(changes: Sequence[_Change], done: Sequence[_Change], application: str) -> None:
    import json

    entries = [
        {
            "topic": change.topic,
            "channel": change.channel,
            "action": change.action,
            "done": change in done,
            "records": change.records if change.action == "delete" else None,
            "differences": [asdict(difference) for difference in change.differences],
        }
        for change in changes
    ]
    click.echo(json.dumps({"application": application, "topics": entries}, indent=2))
