"""What `flow pause`, `flow resume` and `flow restart` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from cli.following import (
    Follower,
    Status,
    Streamlet,
    fail,
    is_drained,
    send,
    shown_state,
    since,
    streamlets,
    the_running,
)

# What ends the waiting; the first ones are what was wanted.
_ENDS = {
    "pause": (("paused", "completed"), ("failed",)),
    "resume": (("running", "completed"), ("failed", "backing-off")),
    "restart": (("running", "completed"), ("failed", "backing-off")),
}


def streamlets_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `STREAMLET...`."""
    return click.argument("refs", nargs=-1, required=True, metavar="STREAMLET...")(command)


def path_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--path`."""
    return click.option(
        "--path", type=click.Path(path_type=Path), default=Path(), metavar="PATH",
        help="The application's blueprint or folder (left out: this folder).",
    )(command)  # fmt: skip


def steer(
    command: Literal["pause", "resume", "restart"],
    refs: Sequence[str],
    where: tuple[Path, Path | None, str | None],
    timeout: float | None,
) -> None:
    """Ask for it, streamlet by streamlet, and wait until it is so.

    Raises:
        click.UsageError: there is no such application or streamlet.
        SystemExit: 1 when it is refused, fails, or takes longer than `timeout` seconds.
    """
    from streamlets.runner.state_directory.control import request

    state = the_running(*where)
    follower = Follower(state, frozenset(refs))
    _known(refs, follower.status(), state.application)
    before = {each["ref"]: since(each) for each in streamlets(follower.status())}
    for ref in refs:
        send(state, request(command, streamlet=ref))

    good, bad = _ENDS[command]

    def ended(each: Streamlet) -> bool:
        anew = command == "pause" or since(each) > before[each["ref"]]
        return anew and shown_state(each) in (*good, *bad) and not is_drained(each)

    def meant(status: Status) -> list[Streamlet]:
        return [each for each in streamlets(status) if each["ref"] in refs]

    status = follower.until(lambda status: all(map(ended, meant(status))), timeout)
    if status is None:
        fail(f"not done within {timeout:g} s; it goes on, see `flow status`")
    if not all(map(ended, meant(status))):
        fail(f"{state.application} ended before it was done")
    if any(shown_state(each) in bad for each in meant(status)):
        raise SystemExit(1)


def _known(refs: Sequence[str], status: Status, application: str) -> None:
    from blueprint.spelling import suggestion

    there = [each["ref"] for each in streamlets(status)]
    for ref in refs if there else ():
        if ref not in there:
            hint = suggestion(ref, there, f"there are {', '.join(there)}")
            raise click.UsageError(f"{application} has no streamlet `{ref}`; {hint}")
