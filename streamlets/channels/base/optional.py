"""Optional methods: a channel overrides them if, and only if, its traits say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from blueprint.catalog import ChannelTraits

Method = TypeVar("Method", bound=Callable[..., Any])

_TRAIT = "_channel_trait"


def optional(trait: str) -> Callable[[Method], Method]:
    """Mark a method that channels with a trait override.

    Arguments:
        trait: the name of a field of `ChannelTraits`.
    """

    def mark(method: Method) -> Method:
        setattr(method, _TRAIT, trait)
        return method

    return mark


class HasTraits:
    """A base class with optional methods.

    Its subclasses must override exactly those that their traits promise: the definition of a class with a misspelt
    method is an error. A subclass without `traits` leaves them to its own subclasses.
    """

    traits: ClassVar[ChannelTraits]

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        traits = getattr(cls, "traits", None)
        for name, trait in optional_methods(cls) if traits is not None else ():
            promised, overridden = getattr(traits, trait), not trait_of(getattr(cls, name))
            if promised and not overridden:
                raise TypeError(f"the channel has the trait `{trait}`, but `{cls.__name__}` does not override `{name}`")
            if overridden and not promised:
                raise TypeError(f"`{cls.__name__}` overrides `{name}`, but the channel lacks the trait `{trait}`")


def optional_methods(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the name and the trait of each optional method of a class."""
    for base in cls.__mro__:
        for name, attribute in vars(base).items():
            if trait := trait_of(attribute):
                yield name, trait


def trait_of(attribute: object) -> str:
    """Return the trait of an optional method or property; "" for other attributes and for overriding ones."""
    return getattr(getattr(attribute, "fget", attribute), _TRAIT, "")
