"""The triggerers by name; the names of a project's own are `module.Class`."""

from __future__ import annotations

import importlib

from blueprint.spelling import suggestion
from streamlets.ingress.triggerers.base import Triggerer, TriggererOption
from streamlets.project.signatures import misfits

TRIGGERERS = {
    "cron": "streamlets.ingress.triggerers.cron:CronTriggerer",
    "files": "streamlets.ingress.triggerers.files:FilesTriggerer",
    "http": "streamlets.ingress.triggerers.http:HttpTriggerer",
    "interval": "streamlets.ingress.triggerers.interval:IntervalTriggerer",
    "immediate": "streamlets.ingress.triggerers.immediate:ImmediateTriggerer",
}
"""The triggerers of Streamlets, as `module:class` by name."""


_SEE = "see `streamlets.ingress.triggerers.Triggerer`"


class TriggererError(ValueError):
    """There is no usable triggerer with a name; the message says why, `help` what to do."""

    def __init__(self, message: str, *help: str) -> None:
        super().__init__(message)
        self.help = help


def calls_once(name: str) -> bool:
    """Return whether a triggerer calls for one discovery at each start only; False if it cannot be created.

    The use of the triggerer reports that.

    Arguments:
        name: as for `make_triggerer`.
    """
    try:
        return bool(getattr(make_triggerer(name), "once", False))
    except TriggererError:
        return False


def make_triggerer(name: str) -> Triggerer:
    """Return a new triggerer.

    Arguments:
        name: the name of one of Streamlets, or `module.Class` of a class without arguments.

    Raises:
        TriggererError: there is none with this name, or it cannot be created.
    """
    module, separator, attribute = TRIGGERERS.get(name, "").partition(":")
    if not separator:
        module, separator, attribute = name.rpartition(".")
    if not separator:
        raise TriggererError(f"unknown triggerer `{name}`", suggestion(name, TRIGGERERS))
    try:
        created: Triggerer = getattr(importlib.import_module(module), attribute)()
    except Exception as error:
        message = f"the triggerer `{name}` cannot be created: {type(error).__name__}: {error}"
        raise TriggererError(message, "name a class of the project as `module.Class`; it takes no arguments") from error
    lacking = [method for method in ("init", "start", "stop") if not callable(getattr(created, method, None))]
    if lacking:
        listed = " and ".join(f"`{method}`" for method in lacking)
        raise TriggererError(f"the triggerer `{name}` has no method {listed}", _SEE)
    for misfit in misfits(type(created), Triggerer):
        raise TriggererError(f"the triggerer `{name}` has a method with the wrong parameters: {misfit.message}", _SEE)
    return created


def named_triggerers() -> dict[str, Triggerer]:
    """Return the triggerers of Streamlets by name."""
    return {name: make_triggerer(name) for name in TRIGGERERS}


def options_of(triggerer: Triggerer) -> tuple[TriggererOption, ...]:
    """Return the options that a triggerer declares."""
    options: tuple[TriggererOption, ...] = getattr(triggerer, "options", ())
    return options
