"""Functions that make many objects at once, all of which stay, with the collector of circular garbage held off."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def uninterrupted(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """The function without collections while it runs.

    The collector would look at all objects made so far over and over and find none to free: a quarter of the time of
    verifying 10,000 streamlets.
    """

    @functools.wraps(function)
    def run(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            gc.enable()

    return run
