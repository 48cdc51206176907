"""What `flow run` says about resources before it starts, and `--resources create-only` and `delete-only`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, NoReturn

import click

from blueprint.spelling import listing
from blueprint.wording import counted
from cli.output.errors import fail
from cli.state import require_own

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from cli.application import Application
    from streamlets.runner.resources.outcome import Outcome
    from streamlets.runner.state_directory.directory import StateDirectory

_JSON = ("json", "jsonl")


def create_resources(app: Application, form: str) -> NoReturn:
    """Create the topics of an application, and exit.

    Arguments:
        app: the application.
        form: the output format of `flow run`.

    Raises:
        SystemExit: 0 if all topics exist, 1 if one cannot be created or the application runs, 2 if it has errors.
    """
    from streamlets.runner.resources.creation import create_topics
    from streamlets.runner.resources.deletion import is_begun
    from streamlets.runner.state_directory.directory import ACCESS, StateError

    plan, state = _verified(app)
    failed = False
    try:
        with state.locked(ACCESS[plan.settings.state_access]):
            if is_begun(state) and not _delete(plan, state, form):
                fail("resources of an earlier run could not be deleted", "correct the causes above, then run it again")
            waiting = lambda servers: click.echo(f"waiting for {servers} ...", err=True)  # noqa: E731
            for outcome in create_topics(plan, state, waiting):
                failed |= outcome.result == "failed"
                _print(outcome, form)
    except StateError as error:
        fail(str(error), error.help)
    raise SystemExit(1 if failed else 0)


def delete_resources(app: Application, yes: bool, form: str) -> NoReturn:
    """Delete the topics and checkpoints of an application, after a confirmation, and exit.

    Arguments:
        app: the application.
        yes: do not ask.
        form: the output format of `flow run`.

    Raises:
        SystemExit: 0 if nothing is left that can be deleted, 1 if something is or the application runs, 2 if it has
            errors.
        click.UsageError: the standard input is not a terminal.
    """
    from streamlets.runner.resources.creation import require_deletable
    from streamlets.runner.resources.deletion import is_begun, survey
    from streamlets.runner.state_directory.directory import StateError

    plan, state = _verified(app)
    if (process := state.owner()) is not None:
        fail(
            f"{state.application} is running on {state.directory}, as process {process or 'unknown'}; nothing was "
            "deleted",
            "stop it with `flow stop`",
        )
    found = list(survey(plan, state))
    outcomes = [outcome for outcome, _ in found]
    if not is_begun(state) and all(outcome.result == "kept" for outcome in outcomes):
        for outcome in outcomes:
            _print(outcome, form)
        if form not in _JSON:
            click.echo(f"{state.application}: nothing to delete")
        raise SystemExit(0)
    try:
        require_deletable(topic for outcome, topic in found if topic is not None and outcome.result != "failed")
        require_own(state)
        if not yes:
            _confirm(state, outcomes)
        with state.locked():
            deleted = _delete(plan, state, form)
        for outcome, topic in found if yes else ():
            if topic is None and outcome.result == "kept":
                _print(outcome, form)
    except StateError as error:
        fail(str(error), error.help)
    if not deleted:
        fail("not everything could be deleted", "correct the causes above, then call the command again to continue")
    raise SystemExit(0)


def check_mode(plan: ApplicationPlan, state: StateDirectory, mode: str, *, fresh: bool, yes: bool) -> None:
    """Ask before all state is deleted, and say what a run deletes and keeps.

    Arguments:
        plan: the application.
        state: its state directory.
        mode: the value of `--resources`.
        fresh: whether the run begins with nothing.
        yes: do not ask.

    Raises:
        click.UsageError: the standard input is not a terminal, or the run would not create the topics again.
    """
    if fresh:
        _check_fresh(plan, state, mode, yes)
    if mode == "standard":
        _note_sinks(plan)


def _check_fresh(plan: ApplicationPlan, state: StateDirectory, mode: str, yes: bool) -> None:
    """Ask before all state is deleted, and print what is lost with it, and what is kept.

    Raises:
        click.UsageError: the standard input is not a terminal, or the run would not create the topics again.
    """
    if mode == "skip":
        raise click.UsageError("--fresh deletes topics, and with --resources skip the run does not create them again")
    if letters := _letters_deleted(plan, state):
        waiting = counted(letters, "dead letter that waits", "dead letters that wait")
        click.echo(f"note: --fresh deletes {waiting}, which `flow dead-letters` shows", err=True)
    if not yes and state.holds_anything():
        if not sys.stdin.isatty():
            raise click.UsageError(f"--fresh deletes {state.topics} and {state.checkpoints}; add --yes to confirm")
        click.confirm(f"Delete all topics and checkpoints in {state.directory}?", abort=True, err=True)
    if note := _kept(plan):
        click.echo(note, err=True)


def _letters_deleted(plan: ApplicationPlan, state: StateDirectory) -> int:
    """Return the number of waiting dead letters that --fresh deletes, without topics that cannot be read."""
    from streamlets.runner.dead_letters.letters import waiting_letters
    from streamlets.runner.resources.outcome import ERRORS
    from streamlets.runner.topics import stored_channels, stored_topics

    external, number = {topic.name for topic in plan.topics if not topic.managed}, 0
    with suppress(*ERRORS):
        local = {name for name, channel in stored_channels(state).items() if channel.topics() is not None}
        for topic in stored_topics(state):
            if topic.plan.channel in local and topic.plan.name not in external:
                with suppress(*ERRORS):
                    number += waiting_letters(topic)
    return number


def _note_sinks(plan: ApplicationPlan) -> None:
    """Say which sinks the next run will not write, if the run deletes their checkpoints."""
    from streamlets.runner.resources.deletion import refusing_sinks

    if streamlets := refusing_sinks(plan):
        click.echo(
            "note: after a clean end, --resources standard deletes the checkpoints of sinks, but not what they have "
            f"written; the next run of {listing(streamlets)} then refuses to append all records again, until the "
            "option `existing` of the sink is `append`, or `replace` for files",
            err=True,
        )


def _kept(plan: ApplicationPlan) -> str:
    """Return which topics --fresh does not delete, because servers store them; "" for none."""
    names = [f"`{topic.name}`" for topic in plan.topics if topic.location]
    if not names:
        return ""
    return (
        f"note: --fresh keeps the records of topics that servers store: {', '.join(names)}; inlets read them again "
        "unless `starting = latest`; to begin without them, stop the application, run "
        "`flow topics purge NAME --all --force` for each of them, and start it with --fresh again"
    )


def _verified(app: Application) -> tuple[ApplicationPlan, StateDirectory]:
    """Return the plan and the state directory of an application that has no errors; otherwise exit with 2."""
    from cli.verification.continuation import Continuation
    from cli.verification.findings import refuse

    verification = app.verify()
    if verification.plan is None:
        refuse(verification)
    return verification.plan, Continuation(app.state_root, None, fresh=True).state(verification.plan)


def _delete(plan: ApplicationPlan, state: StateDirectory, form: str) -> bool:
    from streamlets.runner.resources.deletion import Deletion, is_begun, require_own_deletion

    if is_begun(state):
        require_own_deletion(state)
    return Deletion(plan=plan, state=state, report=lambda outcome: _print(outcome, form)).carry_out()


def _confirm(state: StateDirectory, outcomes: Sequence[Outcome]) -> None:
    """Show what would be deleted and what is kept, and ask.

    Raises:
        click.UsageError: the standard input is not a terminal.
    """
    from blueprint.settings.secret_texts import masked

    deleted = [outcome for outcome in outcomes if outcome.result != "kept"]
    kept = [outcome for outcome in outcomes if outcome.result == "kept"]
    for title, some in (("to be deleted:", deleted), ("kept:", kept)):
        if some:
            click.echo(title, err=True)
        for outcome in some:
            detail = f" ({masked(outcome.detail)})" if outcome.detail else ""
            click.echo(f"  {outcome.resource} {masked(outcome.name)}{detail}", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("nothing was deleted; add --yes to confirm")
    click.confirm(
        f"Delete the topics and checkpoints of {state.application} in {state.directory}?", abort=True, err=True
    )


def _print(outcome: Outcome, form: str) -> None:
    """Print an outcome; an error of a client in it may have a password in an address."""
    from blueprint.settings.secret_texts import masked

    outcome = replace(outcome, name=masked(outcome.name), detail=masked(outcome.detail))
    click.echo(json.dumps(asdict(outcome)) if form in _JSON else outcome.line)
