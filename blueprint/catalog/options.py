"""The declared options of what a blueprint selects by a name, such as a sink or a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from blueprint.catalog.parameters import ParameterType


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option below `options` in the blueprint.

    Arguments:
        name: its key.
        description: its purpose, in one clause.
        type: the type of its value.
        default: its value if it is omitted, in the notation of a blueprint; None if it has no value then.
        required: whether it must be set.
        choices: the accepted values, () for all values of the type.
        minimum: the smallest accepted integer.
        needs: another option that must be set if this one is; "" for none.
        columns: whether its value is names of columns, separated by commas.
        secret: whether its value is a reference to a secret, `{ env = NAME }` or `{ file = PATH }`.
    """

    name: str
    description: str
    type: ParameterType = ParameterType.STRING
    default: str | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int = 0
    needs: str = ""
    columns: bool = False
    secret: bool = False


O_co = TypeVar("O_co", bound=Option, covariant=True)


class HasOptions(Protocol[O_co]):
    """The traits of something that has options."""

    @property
    def name(self) -> str:
        """The name by which a blueprint selects it."""

    @property
    def options(self) -> tuple[O_co, ...]:
        """Its options, in the order of the documentation."""

    @property
    def exclusive(self) -> tuple[tuple[str, str], ...]:
        """Pairs of options of which only one can be set."""

    @property
    def passes_on(self) -> tuple[str, ...]:
        """The beginnings of the names of further options, which are passed on unchecked; an empty one for all."""
