"""Carries out what other terminals ask of a run, and keeps which streamlets are paused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping

from streamlets.runner.state_directory.control import Control, Request
from streamlets.runner.state_directory.directory import StateDirectory, write_atomically
from streamlets.runner.supervision.facts import Drain, StopNow
from streamlets.runner.supervision.supervisor import Supervisor

CheckUpgrade = Callable[[tuple[str, ...]], str]
"""Says why a version cannot take the place of the running one, empty when it can; may take a second."""


class Orders:
    """The requests of a run. `carry_out` is called where the supervisor is; it never blocks.

    Arguments:
        put: takes requests to where the supervisor is.
        check_upgrade: asked in a thread of its own before an upgrade is put there.

    Attributes:
        upgrade: the request whose version is to take over when the run is over; None for none.
    """

    def __init__(self, state: StateDirectory, put: Callable[[Request], None], check_upgrade: CheckUpgrade) -> None:
        self._state = state
        self._put = put
        self._check_upgrade = check_upgrade
        self._control = Control(state, self._take)
        self.paused = _read(state)
        self.upgrade: Request | None = None

    def carry_out(self, wanted: Request, supervisor: Supervisor) -> None:
        """Do what is wanted, or refuse it; answers either way."""
        try:
            refused = self._done(wanted, supervisor)
        except OSError as error:
            refused = f"{self._state.paused_file} cannot be written: {error.strerror or error}"
        self._control.answer(wanted.id, refused)

    def return_to(self, arguments: tuple[str, ...], cause: str, within: float | None, supervisor: Supervisor) -> None:
        """Drain the run and put the version before this one in its place.

        Arguments:
            arguments: of that version's `flow run`; within: seconds that the drain may take.
        """
        self.upgrade = Request("", "upgrade", "its trial", arguments=arguments)
        if not supervisor.done:
            supervisor.handle(Drain(cause, within))

    def close(self) -> None:
        """Take no more requests."""
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

    def _done(self, wanted: Request, supervisor: Supervisor) -> str:
        match wanted.command:
            case "stop":
                self.upgrade = None
                supervisor.handle(Drain(wanted.cause, wanted.within))
            case "stop-now":
                self.upgrade = None
                supervisor.handle(StopNow(wanted.cause))
            case "pause":
                return supervisor.pause(wanted.streamlet, wanted.cause) or self._keep(wanted.streamlet, wanted.cause)
            case "resume":
                return supervisor.resume(wanted.streamlet, wanted.cause) or self._keep(wanted.streamlet, None)
            case "restart":
                return supervisor.restart(wanted.streamlet, wanted.cause)
            case "upgrade":
                if supervisor.ending:
                    return "the run is ending"
                self.upgrade = wanted
                supervisor.handle(Drain(wanted.cause, wanted.within))
        return ""

    def _keep(self, streamlet: str, cause: str | None) -> str:
        kept = {ref: why for ref, why in self.paused.items() if ref != streamlet}
        self.paused = kept if cause is None else kept | {streamlet: cause}
        write_atomically(self._state.paused_file, json.dumps(self.paused, indent=1) + "\n")
        return ""


def _read(state: StateDirectory) -> Mapping[str, str]:
    try:
        found = json.loads(state.paused_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(ref): str(why) for ref, why in found.items()} if isinstance(found, dict) else {}
