"""Methods of authors that the framework calls: whether they take the arguments with which they are called."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType

from blueprint.diagnostics import Span
from blueprint.spelling import listing
from streamlets.api.source_location import display_path


@dataclass(frozen=True, slots=True)
class Misfit:
    """A method that cannot be called as the framework calls it.

    Arguments:
        name: its name.
        takes: its parameters, as they are declared.
        called_with: the names of the arguments of the call.
        span: its name in its definition.
    """

    name: str
    takes: str
    called_with: tuple[str, ...]
    span: Span

    @property
    def message(self) -> str:
        """What is wrong, as one sentence without a full stop."""
        arguments = listing(self.called_with) if self.called_with else "no arguments"
        return f"`{self.name}{self.takes}` is called with {arguments}"


def misfits(cls: type, base: type, methods: Iterable[str] | None = None) -> Iterator[Misfit]:
    """Yield the methods of a class that do not take the arguments of the method of `base`.

    Arguments:
        cls: the class of an author.
        base: the class, or protocol, of the framework.
        methods: the names of the methods that the framework calls; None for all public ones of `base`.
    """
    names = sorted(vars(base)) if methods is None else methods
    for name in names:
        called, own = vars(base).get(name), inspect.getattr_static(cls, name, None)
        if name.startswith("_") or not isinstance(called, FunctionType) or own is called:
            continue
        if not isinstance(own, FunctionType):  # a property, or made by a decorator
            continue
        expected = list(_signature(called).parameters.values())
        positional = [parameter.name for parameter in expected[1:] if parameter.kind is not parameter.KEYWORD_ONLY]
        named = {parameter.name: None for parameter in expected if parameter.kind is parameter.KEYWORD_ONLY}
        taken = _signature(own)
        try:
            taken.bind(*[None] * (1 + len(positional)), **named)
        except TypeError:
            shown = f"({', '.join(taken.parameters)})"
            yield Misfit(name, shown, (*positional, *named), _span(own))


def _span(function: FunctionType) -> Span:
    code = function.__code__
    line = linecache.getline(code.co_filename, code.co_firstlineno)
    column = line.find(function.__name__) + 1 or 1  # a decorator may be in that line
    return Span(
        display_path(code.co_filename), code.co_firstlineno, column,
        code.co_firstlineno, column + len(function.__name__) * (column > 1),
    )  # fmt: skip


def _signature(function: FunctionType) -> inspect.Signature:
    # A decorator may pass other arguments on than it takes, so what it wraps says nothing.
    return inspect.signature(function, follow_wrapped=False)
