"""Carries out the requests of other terminals to a run, and stores which streamlets are paused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping

from blueprint.setting_types import REPLICAS
from streamlets.runner.events.status import UnitId
from streamlets.runner.state_directory.control import Control, Request
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Drain, StopNow
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.storage.damage import read_whole
from streamlets.storage.files import write_atomically

CheckUpgrade = Callable[[tuple[str, ...]], str]
"""Returns why a version with these arguments cannot replace the running one, empty when it can; may take a second."""


class Orders:
    """The requests to a run.

    Arguments:
        put: passes a request to the supervisor's thread, which calls `carry_out`.
        check_upgrade: called in a thread of its own before an upgrade is passed on.
        refused: takes a line about each request that is not from the user of the run.
        planned: the number of replicas of each streamlet in the blueprint, None where it is not set.

    Attributes:
        upgrade: the request for the version that takes over when the run has ended; None without one.
    """

    def __init__(
        self,
        state: StateDirectory,
        put: Callable[[Request], None],
        check_upgrade: CheckUpgrade,
        refused: Callable[[str], None] = lambda line: None,
        planned: Mapping[str, int | None] | None = None,
    ) -> None:
        self._state = state
        self._planned = planned or {}
        self._put = put
        self._check_upgrade = check_upgrade
        self._control = Control(state, self._take, refused)
        self.paused = _read_paused(state)
        self.upgrade: Request | None = None

    def carry_out(self, wanted: Request, supervisor: Supervisor) -> None:
        """Carry out or refuse a request, and answer it; never blocks. To be called in the supervisor's thread."""
        try:
            refused = self._command(wanted, supervisor)
        except OSError as error:
            refused = f"cannot write {self._state.paused_file}: {error.strerror or error}"
        self._control.answer(wanted.id, refused)

    def return_to(self, arguments: tuple[str, ...], cause: str, within: float | None, supervisor: Supervisor) -> None:
        """Drain the run and return to the previous version.

        Arguments:
            arguments: the arguments of `flow run` of the previous version.
            cause: why the run returns to it.
            within: seconds that the drain may take.
        """
        self.upgrade = Request(id="", command="upgrade", by="its trial", arguments=arguments)
        if not supervisor.done:
            supervisor.handle(Drain(cause, within))

    def close(self) -> None:
        """Receive no more requests."""
        self._control.close()

    def _take(self, wanted: Request) -> None:
        if wanted.command != "upgrade":
            self._put(wanted)
            return

        def check() -> None:
            refused = self._check_upgrade(wanted.arguments)
            if refused:
                self._control.answer(wanted.id, refused)
            else:
                self._put(wanted)

        threading.Thread(target=check, name="check-upgrade", daemon=True).start()

    def _command(self, wanted: Request, supervisor: Supervisor) -> str:
        """Pass a request's command to the supervisor; return the reason for a refusal."""
        if self.upgrade is not None and wanted.command not in ("stop", "stop-now"):
            return "the run is being upgraded: repeat the command when the new version is up"
        match wanted.command:
            case "stop":
                self.upgrade = None
                supervisor.handle(Drain(wanted.cause, wanted.within))
            case "stop-now":
                self.upgrade = None
                supervisor.handle(StopNow(wanted.cause))
            case "pause":
                refusal = supervisor.pause(wanted.streamlet, wanted.cause)
                return refusal or self._store(supervisor.steering.together_with(wanted.streamlet), wanted.cause)
            case "resume":
                refusal = supervisor.resume(wanted.streamlet, wanted.cause)
                return refusal or self._store(supervisor.steering.together_with(wanted.streamlet), None)
            case "restart":
                return supervisor.restart(wanted.streamlet, wanted.cause)
            case "scale":
                return self._scale(wanted, supervisor)
            case "stop-query":
                return supervisor.stop_query(UnitId(wanted.streamlet, wanted.query), wanted.cause)
            case "upgrade":
                if supervisor.ending:
                    return "the run is ending"
                self.upgrade = wanted
                supervisor.handle(Drain(wanted.cause, wanted.within))
        return ""

    def _scale(self, wanted: Request, supervisor: Supervisor) -> str:
        """Give a streamlet another number of replicas in this run; return the reason for a refusal."""
        try:
            REPLICAS.read(str(wanted.replicas))
        except ValueError:
            return f"the number of replicas must be {REPLICAS.expected}, found {wanted.replicas}"
        as_planned = wanted.replicas == self._planned.get(wanted.streamlet)
        return supervisor.scale(wanted.streamlet, None if as_planned else wanted.replicas, wanted.cause)

    def _store(self, streamlets: tuple[str, ...], cause: str | None) -> str:
        """Store that streamlets are paused for a cause, or with None that they are not; return no refusal."""
        others = {ref: why for ref, why in self.paused.items() if ref not in streamlets}
        self.paused = others if cause is None else others | dict.fromkeys(streamlets, cause)
        write_atomically(self._state.paused_file, json.dumps(self.paused, indent=1) + "\n")
        return ""


def _read_paused(state: StateDirectory) -> Mapping[str, str]:
    """Return the stored cause of each paused streamlet.

    Raises:
        DamagedFileError: the file is damaged. A paused streamlet must not run because its file is damaged.
    """
    what, remedy = "the list of paused streamlets", "delete it: then no streamlet is paused"
    return read_whole(state.paused_file, _causes, what, remedy) or {}


def _causes(data: bytes) -> Mapping[str, str]:
    return {str(ref): str(cause) for ref, cause in json.loads(data).items()}
