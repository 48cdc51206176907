"""Methods whose parameters do not fit the calls of the framework."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from streamlets.project.signatures import misfits


class Base:
    """What the framework calls."""

    def run(self, out: Any, resume: Any) -> None:
        """Be called with two arguments."""

    def write(self, rows: Any, *, mode: str = "") -> None:
        """Be called with a named argument."""

    @property
    def shape(self) -> int:
        """Return something."""
        return 1

    def _own(self) -> None:
        """Not be called on classes of authors."""


def anything(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function, which gets other arguments than it is called with."""

    @functools.wraps(function)
    def wrapper(*args: Any, **named: Any) -> Any:
        return function()

    return wrapper


class Fits(Base):
    """All its methods can be called."""

    run = lambda self, *args: None  # noqa: E731

    def write(self, rows: Any, extra: int = 1, **options: Any) -> None: ...

    @property
    def shape(self) -> int:
        return 2

    def _own(self, more: int) -> None: ...  # type: ignore[override]


class Wrapped(Base):
    """Its method gets its arguments from a decorator."""

    @anything
    def run() -> None: ...


class Fewer(Base):
    """Its method takes fewer arguments."""

    def run(self, out: Any) -> None: ...  # type: ignore[override]


class More(Base):
    """Its method needs another argument."""

    def run(self, out: Any, resume: Any, config: Any) -> None: ...  # type: ignore[override]


class Unnamed(Base):
    """Its method lacks a named argument."""

    def write(self, rows: Any) -> None: ...  # type: ignore[override]


@pytest.mark.parametrize("cls", [Base, Fits, Wrapped])
def test_methods_that_can_be_called(cls: type) -> None:
    """They have defaults for what is not passed, or are not what the framework calls."""
    assert list(misfits(cls, Base)) == []


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Fewer, "`run(self, out)` is called with `out` and `resume`"),
        (More, "`run(self, out, resume, config)` is called with `out` and `resume`"),
        (Unnamed, "`write(self, rows)` is called with `rows` and `mode`"),
    ],
)
def test_methods_that_cannot_be_called(cls: type, message: str) -> None:
    """The message has their parameters and the arguments; the place is their name."""
    (misfit,) = misfits(cls, Base)
    assert misfit.message == message
    with open(__file__) as file:  # noqa: PTH123
        line = file.read().split("\n")[misfit.span.line - 1]
    assert line[misfit.span.column - 1 : misfit.span.end_column - 1] == misfit.name
    assert list(misfits(cls, Base, ["shape"])) == []
