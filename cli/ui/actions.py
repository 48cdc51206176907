"""What people can do on the page: each action takes the way of the command with its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from blueprint.setting_types import REPLICAS
from cli.runs.current import current_status
from cli.ui.answers import commands
from streamlets.runner.state_directory.control import Command, RunnerGoneError, ask, request
from streamlets.runner.state_directory.directory import StateError

if TYPE_CHECKING:
    from cli.ui.served import Served

_PATIENCE = 90.0
"""Seconds to wait for the answer of a runner, which may be starting Spark."""


class RefusedError(Exception):
    """An action is not possible; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An action that a page asks for.

    Arguments:
        action: its name.
        streamlet: the streamlet that it is about; "" for the application.
        replicas: for `scale`, the number.
        port: for `replay`, the streamlet or `streamlet.port` whose dead letters are replayed.
        reason: for `replay`, only letters with this reason; "" for all.
        dry_run: for `replay`, whether to show what would be replayed.
        task: for `retry`, the number of a failed task of the streamlet.
    """

    action: str
    streamlet: str = ""
    replicas: int = 0
    port: str = ""
    reason: str = ""
    dry_run: bool = False
    task: int = -1


def act(served: Served, data: Mapping[str, object]) -> dict[str, Any]:
    """Do what a page asks for; return the answer.

    Raises:
        RefusedError: the action is not known, or not possible now.
        CommandError: a command has failed.
    """
    wanted = _wanted(data)
    action = ACTIONS.get(wanted.action)
    if action is None:
        raise RefusedError(f"there is no action `{wanted.action}`; the actions are {', '.join(ACTIONS)}")
    return action(served, wanted)


def _wanted(data: Mapping[str, object]) -> Wanted:
    kinds = get_type_hints(Wanted)
    for key, value in data.items():
        if key not in kinds or type(value) is not kinds[key]:
            raise RefusedError(f"`{key}` of the action is not valid")
    if "action" not in data:
        raise RefusedError("the action has no name")
    return Wanted(**data)  # type: ignore[arg-type]


def _steer(command: Command, *, of_streamlet: bool = True) -> Callable[[Served, Wanted], dict[str, Any]]:
    """Return an action that is a request to the runner."""

    def steer(served: Served, wanted: Wanted) -> dict[str, Any]:
        if of_streamlet:
            written = current_status(served.state).written
            if written is None or wanted.streamlet not in written.status.order:
                raise RefusedError(f"{served.name} has no streamlet `{wanted.streamlet}`")
        if command == "scale":
            try:
                REPLICAS.read(str(wanted.replicas))
            except ValueError:
                raise RefusedError(f"the number of replicas must be {REPLICAS.expected}") from None
        streamlet = wanted.streamlet if of_streamlet else ""
        replicas = wanted.replicas if command == "scale" else 0
        try:
            answer = ask(served.state, request(command, streamlet=streamlet, replicas=replicas), patience=_PATIENCE)
        except RunnerGoneError as error:
            raise RefusedError(str(error)) from None
        except StateError as error:
            raise RefusedError(f"{error}; {error.help}") from None
        if answer.refused:
            raise RefusedError(answer.refused)
        return {"accepted": True}

    return steer


def _replay(served: Served, wanted: Wanted) -> dict[str, Any]:
    return {"replay": commands.replay(served, wanted.port, reason=wanted.reason, dry_run=wanted.dry_run)}


def _retry(served: Served, wanted: Wanted) -> dict[str, Any]:
    return {"retry": commands.retry(served, wanted.streamlet, wanted.task)}


ACTIONS: Mapping[str, Callable[[Served, Wanted], dict[str, Any]]] = {
    "pause": _steer("pause"),
    "resume": _steer("resume"),
    "restart": _steer("restart"),
    "scale": _steer("scale"),
    "stop": _steer("stop", of_streamlet=False),
    "replay": _replay,
    "retry": _retry,
}
"""The actions by name."""
