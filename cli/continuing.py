"""What `flow run` continues: the state that earlier runs left, compared with the version that is to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.against import CLASSES

if TYPE_CHECKING:
    from blueprint.comparison import Change, ChangeClass
    from blueprint.comparison.findings import Against
    from blueprint.diagnostics import Diagnostic
    from blueprint.plan import ApplicationPlan
    from blueprint.verification.verify import Verification
    from streamlets.runner.state_directory.directory import StateDirectory


def lost_queries(changes: Iterable[Change]) -> tuple[str, ...]:
    """Return the queries that cannot continue from their checkpoints after some changes, sorted."""
    return tuple(sorted({query for change in changes for query in change.queries}))


def _print(message: str, *help: str) -> None:
    click.echo("\n".join([f"error: {message}", *(f"  help: {each}" for each in help)]), err=True)


class Continuation:
    """Chooses what a run is compared with: the application as it last ran on the state directory.

    Nothing runs there, so what needs readers or writers upgraded first is met by starting all of them, and what needs a
    drain is met when every query ended at a commit.

    Arguments:
        root: the state directory, None for the one beside the blueprint.
        allow: what a change may take at most; None for what the way in which the last run ended allows.
        fresh: whether all state is deleted first.

    Attributes:
        compared: the descriptor that was compared with, as text; None when there was none.
    """

    def __init__(self, root: Path | None, allow: str | None, *, fresh: bool) -> None:
        self._root = root
        self._allow = allow
        self._fresh = fresh
        self._unfinished: tuple[str, ...] = ()
        self.compared: str | None = None

    def state(self, plan: ApplicationPlan) -> StateDirectory:
        """Return the state directory of an application."""
        from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory

        return StateDirectory(self._root if self._root is not None else Path(plan.folder) / STATE_DIRECTORY, plan.name)

    def __call__(self, plan: ApplicationPlan) -> Against | None:
        """Return what the plan is compared with; None when there is nothing to continue."""
        from blueprint.comparison import ChangeClass, DescriptorError
        from blueprint.comparison.findings import Against
        from blueprint.hocon import shown_name
        from streamlets.runner.checkpoints.checkpoint import checkpoints_in
        from streamlets.runner.deployment import deployed, descriptor_text, holds_state

        state = self.state(plan)
        if self._fresh or state.taken_over or state.owner() is not None:  # an owner refuses this run
            return None
        checkpoints = checkpoints_in(state.checkpoints)
        self._unfinished = tuple(each.name for each in checkpoints if each.planned is not None or each.damage)
        allowed = ChangeClass(self._allow or ("writers-first" if self._unfinished else "drain"))
        try:
            self.compared = descriptor_text(state)
            if not checkpoints and (self.compared is None or not holds_state(state)):
                return None
            described = deployed(state)
        except DescriptorError as error:
            return self._unknown(state, error.diagnostic, allowed)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
            return self._unknown(state, f"`{shown_name(state.descriptor_file)}` cannot be read: {reason}", allowed)
        if described is None:
            folder = shown_name(state.directory)
            return self._unknown(state, f"`{folder}` has no descriptor of the version that made its state", allowed)
        return Against(described, shown_name(state.descriptor_file), allowed)

    def _unknown(self, state: StateDirectory, wrong: Diagnostic | str, allowed: ChangeClass) -> Against | None:
        """Return the finding that takes the place of a comparison; None where the worst is allowed."""
        from blueprint.comparison import ChangeClass
        from blueprint.comparison.findings import Against
        from blueprint.diagnostics import finding
        from blueprint.hocon import shown_name

        if allowed.rank >= ChangeClass.STATE_LOSS.rank:
            return None
        if isinstance(wrong, str):
            help = (
                "if its checkpoints and topics are those of this version, continue with `--allow state-loss`",
                "or start with a new state: `--fresh` deletes this one, `--state-dir` takes another",
            )
            wrong = finding("descriptor", wrong, causes=("this version cannot be compared with it",), help=help)
        return Against(wrong, shown_name(state.descriptor_file), allowed)

    def report(self, verification: Verification) -> None:
        """Print on the standard error what changed since the last run, unless all of it is safe.

        Raises:
            SystemExit: 2, when a change takes more than is allowed, or what changed is not known.
        """
        from blueprint.diagnostics import Severity
        from blueprint.diagnostics.concise import concise_line
        from cli.verifying import report

        changes = [each for each in verification.diagnostics if each.change_class is not None]
        lost = lost_queries(verification.changes)
        if not verification.ok:
            click.echo(report(verification, err=True), nl=False, err=True)
            beyond = [str(each.change_class) for each in changes if each.severity is Severity.ERROR]
            if beyond:
                self._advise(max(beyond, key=CLASSES.index), lost, logic=verification.checked.logic is not None)
            raise SystemExit(2)
        for change in changes:
            if change.severity is not Severity.NOTE:
                click.echo(concise_line(change, verification.blueprint), err=True)
        if lost:
            click.echo(f"starting again with a new checkpoint: {', '.join(lost)}", err=True)

    def _advise(self, worst: str, lost: Sequence[str], *, logic: bool) -> None:
        """Print why the run stops and what to do."""
        if worst == "drain":
            unfinished = ", ".join(f"`{query}`" for query in self._unfinished)
            _print(
                f"the last run ended in the middle of a batch of {unfinished}",
                "run the version before once more, with `--available-now`, or continue with `--allow drain`",
            )
            return
        again = f"; then these start again with a new checkpoint: {', '.join(lost)}" if lost else ""
        _print(
            "this version cannot continue the state of the last run as it is",
            f"undo the changes above, or continue with `--allow {worst}`{again}",
            *(() if logic else ("`--plans` builds the streamlets' logic first and compares the queries themselves",)),
        )
