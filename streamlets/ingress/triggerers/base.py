"""The interface of a triggerer. An author of a triggerer implements `Triggerer`; a blueprint names the class."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from blueprint.catalog import ParameterType
from blueprint.settings.secrets import Secrets
from streamlets.ingress.secret_source import read_secret
from streamlets.ingress.triggerers.clock import Clock, SystemClock

Trigger = Callable[[str], bool]
"""Requests a discovery. The argument describes what happened and is passed to `discover`. The result is whether the
discovery will run; False if one is running already, and the request was dropped."""


def _raise(error: Exception) -> None:
    raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggererContext:
    """The environment of a triggerer.

    Arguments:
        streamlet: the name of the batch source in the blueprint.
        directory: the directory of the blueprint, from which relative paths start.
        clock: the wall clock.
        fail: fails the source, which is started again later, with a new triggerer. It may be called from any thread.
        secrets: takes the secrets that the triggerer reads, which no file and no output shows.
    """

    streamlet: str
    directory: Path
    clock: Clock = field(default_factory=SystemClock)
    fail: Callable[[Exception], None] = _raise
    secrets: Secrets = field(default_factory=Secrets)

    def secret(self, setting: object) -> str:
        """Return the secret that a setting refers to; what a run shows and stores has `(secret)` in its place.

        Arguments:
            setting: a value of the configuration: `{ env = NAME }` or `{ file = PATH }`.

        Raises:
            ValueError: it is not a reference to a secret.
            OSError: the variable is not set, or the file cannot be read.
        """
        return read_secret(setting, self.directory, self.secrets)

    def run_in_thread(self, work: Callable[[], object], name: str) -> None:
        """Run `work` in a thread of its own.

        An exception in it fails the source: without that, it would wait for ever for a trigger.

        Arguments:
            work: what to run.
            name: the name of the thread, such as the name of the triggerer; the name of the source is added.
        """

        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - code of any author
                self.fail(error)

        threading.Thread(target=run, name=f"{name}-{self.streamlet}", daemon=True).start()


@dataclass(frozen=True, slots=True)
class TriggererProblem:
    """A problem of the configuration of a triggerer.

    Arguments:
        key: the key that is wrong or missing; "" for the configuration as a whole.
        message: one sentence without a full stop.
        help: what to do, one sentence each.
        about: whether the value is wrong, or the key must not be set.
    """

    key: str
    message: str
    help: tuple[str, ...] = ()
    about: str = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggererOption:
    """A key of the configuration of a triggerer.

    Arguments:
        name: the key below `discovery.config`.
        description: its purpose, in one clause.
        type: the type of its value, for editors.
        default: its value if it is omitted, in the notation of a blueprint.
        required: whether it must be set.
        example: a value for messages.
    """

    name: str
    description: str
    type: ParameterType = ParameterType.STRING
    default: str | None = None
    required: bool = False
    example: str = ""


class Triggerer(Protocol):
    """Calls for discoveries. It is created by its class without arguments, in the runner, for each source start.

    A class may also have a method `problems(config, context)` that yields a `TriggererProblem` for each mistake in the
    configuration, without effects: `flow verify` calls it. It may have an attribute `options`, a tuple with a
    `TriggererOption` for each key: editors complete them. With an attribute `once` that is true it calls for one
    discovery at each start, and for no other: the source can end.
    """

    def init(self, config: Mapping[str, Any], context: TriggererContext) -> None:
        """Take the configuration.

        Arguments:
            config: the object `discovery.config` of the blueprint.
            context: the environment.

        Raises:
            ValueError: the configuration is invalid.
        """

    def start(self, trigger: Trigger) -> None:
        """Begin to call `trigger`, from a thread of its own (`context.run_in_thread`), and return at once.

        An exception here or in that thread fails the source, which is started again later.

        Arguments:
            trigger: requests a discovery; it returns at once, and may be called from any thread.
        """

    def stop(self) -> None:
        """Call `trigger` no more. It may be called before `start`, and twice."""
