"""`flow topics copy`: copy the records of a topic from one channel to another."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import counted
from cli.application import Application, application_arguments
from cli.application import application as application_of
from cli.groups import imports_modules
from cli.options import DirectoryType, format_option
from cli.output.errors import fail
from cli.state import require_own, with_running_settings

if TYPE_CHECKING:
    from blueprint.avro.model import Contract
    from blueprint.plan import ApplicationPlan, TopicPlan
    from streamlets.channels.base import TopicResource
    from streamlets.channels.copying import Progress
    from streamlets.runner.state_directory.directory import StateDirectory

_EVERY = 2.0


@imports_modules()
@click.command(short_help="Copy the records of a topic to another channel.")
@click.argument("topic")
@application_arguments
@click.option("--from", "source", required=True, metavar="CHANNEL", help="The channel that has the records.")
@click.option("--to", "target", metavar="CHANNEL", help="The channel to copy to (default: the blueprint's channel).")
@click.option(
    "--state-dir", type=DirectoryType(path_type=Path), metavar="DIRECTORY",
    help="The parent directory of the applications' state (default: .flow next to the blueprint).",
)  # fmt: skip
@click.option("--append", is_flag=True, help="Copy to a topic that has other records.")
@click.option(
    "--readers", is_flag=True,
    help="Also move the positions of the application's readers, which must have read everything.",
)  # fmt: skip
@format_option()
def copy(
    topic: str,
    arguments: Sequence[str],
    conf: Sequence[str],
    source: str,
    target: str | None,
    state_dir: Path | None,
    append: bool,
    readers: bool,
    form: str,
) -> None:
    """Copy the records of TOPIC from one channel to another.

    Records keep the schema that they were written with, and the records of a writer keep their order. A copy that was
    interrupted continues where it ended when the command is called again: no record is lost or copied twice. A later
    call copies the records that were written since. The application may be running, unless --readers is given.

    With --readers, the checkpoints of the application's queries get their positions in the copy, with all their state.
    Then the application continues on the other channel where it ended on the first.

    TOPIC is the id of the topic in the blueprint or its name on its channel, PATH the blueprint or its directory
    (default: the working directory).
    The exit code is 1 if the topic cannot be copied.
    """
    from streamlets.channels.base import ChannelUnavailableError, TopicLostError, TopicWriteError, WriterFencedError
    from streamlets.channels.copying import CopyError, OtherRecordsError, copy_topic
    from streamlets.runner.checkpoints.relocation import RelocationError, relocate, relocations, store_moved
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory, StateError
    from streamlets.runner.topics import contracts_of_writers

    app = application_of(arguments, conf)
    root = state_dir or app.directory / STATE_DIRECTORY
    app = with_running_settings(app, StateDirectory(root, app.name or ""))
    topic = _id(app, topic)
    target_plan = _plan(app, topic, target)
    state = require_own(StateDirectory(root, target_plan.name))
    first, second = _resource(_plan(app, topic, source), topic, state), _resource(target_plan, topic, state)
    if (first.plan.channel, first.plan.location) == (second.plan.channel, second.plan.location):
        raise click.UsageError(f"the topic `{topic}` is on the channel `{source}` already; set another one with --to")
    contracts = contracts_of_writers(target_plan, topic)
    try:
        with state.locked() if readers else nullcontext():
            moved = relocations(state, first) if readers else ()
            second.create(contracts)
            done = copy_topic(
                first,
                second,
                contract=contracts[0] if contracts else None,
                partition_by=_partitioning(target_plan, topic),
                append=append,
                report=_reporter(topic) if form == "text" else lambda progress: None,
            )
            if readers:
                relocate(moved, second.end())
                store_moved(state, target_plan, topic)
    except (StateError, RelocationError) as error:
        fail(str(error), error.help)
    except CopyError as error:
        fail(str(error), "--append copies to it all the same" if isinstance(error, OtherRecordsError) else "")
    except (ChannelUnavailableError, TopicLostError, TopicWriteError, WriterFencedError, OSError, ValueError) as error:
        fail(f"the topic cannot be copied: {error}", "call the command again to continue")
    _report(topic, first.plan, second.plan, done.copied, [relocation.reader for relocation in moved], form)


def _id(app: Application, topic: str) -> str:
    """Return the id of the topic with an id or a name on its channel; what is given if there is none."""
    plan = app.verify().plan
    known = plan.topics if plan is not None and topic not in {entry.id for entry in plan.topics} else ()
    return next((entry.id for entry in known if entry.name == topic), topic)


def _plan(app: Application, topic: str, channel: str | None) -> ApplicationPlan:
    """Return the application with a topic on a channel; None for the channel in the blueprint.

    Raises:
        click.UsageError: the blueprint does not have the topic.
        SystemExit: 2, when the application has errors.
    """
    from blueprint.spelling import suggestion
    from cli.verification.findings import refuse

    moved = (f'flow.topics."{topic}".channel={channel}',) if channel is not None else ()
    plan = app.verify().plan
    if plan is not None and topic not in {entry.id for entry in plan.topics}:
        known = suggestion(topic, [name for entry in plan.topics for name in (entry.id, entry.name)])
        raise click.UsageError(f"the blueprint has no topic `{topic}`; {known}")
    verification = Application(app.blueprint, app.conf, (*app.settings, *moved)).verify()
    if verification.plan is None:
        refuse(verification)
    return verification.plan


def _resource(plan: ApplicationPlan, topic: str, state: StateDirectory) -> TopicResource:
    from streamlets.runner.topics import channels_of

    entry: TopicPlan = next(entry for entry in plan.topics if entry.id == topic)
    return channels_of(plan, state)[entry.channel].topic(entry)


def _partitioning(plan: ApplicationPlan, topic: str) -> Callable[[Contract], tuple[str, ...]]:
    """Return a function that returns the columns by which an outlet partitions the records of a contract."""
    outlets = [outlet for streamlet in plan.streamlets for outlet in streamlet.outlets if outlet.topic == topic]
    by_contract = {outlet.contract.fingerprint: outlet.partition_by for outlet in reversed(outlets)}
    default = outlets[0].partition_by if outlets else ()

    def partition_by(contract: Contract) -> tuple[str, ...]:
        chosen = by_contract.get(contract.fingerprint, default)
        fields = {field.name.lower() for field in contract.record.fields}
        known = contract.fingerprint in by_contract or all(column.lower() in fields for column in chosen)
        return chosen if known else ()

    return partition_by


def _reporter(topic: str) -> Callable[[Progress], None]:
    """Return a function that prints progress at intervals."""
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        if progress.remaining and time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            click.echo(f"{topic}: {counted(progress.copied, 'record')} copied, {progress.remaining:,} remain")
            sys.stdout.flush()

    return report


def _report(topic: str, source: TopicPlan, target: TopicPlan, copied: int, readers: Sequence[str], form: str) -> None:
    if form == "json":
        import json

        result = {
            "topic": topic,
            "from": {"channel": source.channel, "name": source.name},
            "to": {"channel": target.channel, "name": target.name},
            "copied": copied,
            "readers": list(readers),
        }
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"{topic}: {counted(copied, 'record')} copied from {source.channel} to {target.channel}")
    for reader in readers:
        click.echo(f"  {reader} continues after them")
