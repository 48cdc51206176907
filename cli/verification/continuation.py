"""The comparison of a version that is to run with the version that last ran on the same state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.output.errors import fail, print_error
from cli.verification.descriptors import CLASSES, read_error

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


class Continuation:
    """Selects the descriptor that `flow run` compares with: the one of the last run on the state directory.

    Nothing runs on the state, so changes that need readers or writers upgraded first are allowed: all of them start
    together. Changes that need a drain are allowed when every query ended after a commit.

    Arguments:
        root: the directory of `--state-dir`; None for the one next to the blueprint.
        allow: the worst class of change to allow; None to decide by how the last run ended.
        fresh: whether all state is deleted first.

    Attributes:
        compared: the text of the descriptor that was compared with; None without a comparison.
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

        return StateDirectory(
            self._root if self._root is not None else Path(plan.directory) / STATE_DIRECTORY, plan.name
        )

    def __call__(self, plan: ApplicationPlan) -> Against | None:
        """Return the older application to compare the plan with; None when there is no state to continue."""
        from blueprint.comparison import ChangeClass, DescriptorError
        from blueprint.comparison.findings import Against
        from blueprint.hocon import shown_name
        from streamlets.runner.checkpoints.checkpoint import checkpoints_in
        from streamlets.runner.deployment import deployed, descriptor_text, holds_state
        from streamlets.runner.resources.deletion import is_begun

        state = self.state(plan)
        self._await_servers(plan)
        if self._fresh or is_begun(state):  # nothing is left to compare with when the run starts
            return None
        if state.taken_over or state.owner() is not None:  # The lock of an owner makes this run fail.
            return None
        checkpoints = checkpoints_in(state.checkpoints)
        self._unfinished = tuple(
            checkpoint.name for checkpoint in checkpoints if checkpoint.planned is not None or checkpoint.damage
        )
        allowed = ChangeClass(self._allow or ("writers-first" if self._unfinished else "drain"))
        try:
            self.compared = descriptor_text(state)
            if not checkpoints and (self.compared is None or not holds_state(state, plan.topics)):
                return None
            descriptor = deployed(state, plan.topics)
        except DescriptorError as error:
            return self._incomparable(state, error.diagnostic, allowed)
        except (OSError, UnicodeDecodeError) as error:
            reason = f"`{shown_name(state.descriptor_file)}` cannot be read: {read_error(error)}"
            return self._incomparable(state, reason, allowed)
        if descriptor is None:
            reason = f"`{shown_name(state.directory)}` has no descriptor of the version that created its state"
            return self._incomparable(state, reason, allowed)
        return Against(descriptor, shown_name(state.descriptor_file), allowed, compares_later=self._allow is None)

    def _await_servers(self, plan: ApplicationPlan) -> None:
        """Wait until the servers of the topics answer: the comparison asks them which schemas their records have.

        Raises:
            SystemExit: 1, when they do not answer.
        """
        from streamlets.channels.waiting import await_servers, patience_of

        def announce(servers: str) -> None:
            click.echo(f"waiting for {servers} ...", err=True)

        failed = await_servers(plan.topics, announce, patience=patience_of(plan))
        if failed is not None:
            fail(f"{failed.subject}: {failed.detail}", failed.help)

    def _incomparable(self, state: StateDirectory, reason: Diagnostic | str, allowed: ChangeClass) -> Against | None:
        """Return a diagnostic in place of a comparison; None if loss of state is allowed."""
        from blueprint.comparison import ChangeClass
        from blueprint.comparison.findings import Against
        from blueprint.diagnostics import finding
        from blueprint.hocon import shown_name

        if allowed.rank >= ChangeClass.STATE_LOSS.rank:
            return None
        if isinstance(reason, str):
            help = (
                "if its checkpoints and topics belong to this version, continue with `--allow state-loss`",
                "to start with empty state, delete this one with `--fresh` or use another `--state-dir`",
            )
            reason = finding("descriptor", reason, causes=("this version cannot be compared with it",), help=help)
        return Against(reason, shown_name(state.descriptor_file), allowed)

    def report(self, verification: Verification) -> None:
        """Print on the standard error what changed since the last run, unless all of it is safe.

        Raises:
            SystemExit: 2, when a change is not allowed, or the versions cannot be compared.
        """
        from blueprint.diagnostics import Severity
        from blueprint.diagnostics.concise import concise_line
        from cli.verification.findings import report

        changes = [diagnostic for diagnostic in verification.diagnostics if diagnostic.change_class is not None]
        lost = lost_queries(verification.changes)
        if not verification.ok:
            click.echo(report(verification, err=True), nl=False, err=True)
            refused = [str(change.change_class) for change in changes if change.severity is Severity.ERROR]
            if refused:
                worst = max(refused, key=CLASSES.index)
                self._print_advice(worst, lost, logic=verification.checked.logic is not None)
            raise SystemExit(2)
        for change in changes:
            if change.severity is not Severity.NOTE:
                click.echo(concise_line(change, verification.blueprint), err=True)
        if lost:
            click.echo(f"starting with a new checkpoint: {', '.join(lost)}", err=True)

    def _print_advice(self, worst: str, lost: Sequence[str], *, logic: bool) -> None:
        """Print why the run does not start, and what to do.

        Arguments:
            worst: the worst class of the changes.
            lost: the queries that would start with a new checkpoint.
            logic: whether the streamlets' logic was compared, too.
        """
        if worst == "drain":
            unfinished = ", ".join(f"`{query}`" for query in self._unfinished)
            print_error(
                f"the last run ended in the middle of a batch of {unfinished}",
                "run the previous version again with `--available-now`, or continue with `--allow drain`",
            )
            return
        restarted = f", which starts these queries with a new checkpoint: {', '.join(lost)}" if lost else ""
        print_error(
            "this version cannot continue from the state of the last run",
            f"revert the changes above, or continue with `--allow {worst}`{restarted}",
            "" if logic else "add `--plans` to build the streamlets' logic and compare the queries themselves",
        )
