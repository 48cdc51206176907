"""Which tests of the suite fit a channel, by its traits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from streamlets.channels.base.optional import optional, trait_of
from streamlets.testkit.channels.bench import ChannelBench

if TYPE_CHECKING:
    from streamlets.channels.channel_type import ChannelType

Test = TypeVar("Test", bound=Callable[..., None])


def needs(trait: str) -> Callable[[Test], Test]:
    """Mark a test of the suite that fits only channels with a trait.

    Arguments:
        trait: the name of a field of `ChannelTraits`.
    """
    return optional(trait)


class FittingTests:
    """A class of tests. A subclass with a `channel` has only those that fit its traits."""

    channel: ClassVar[ChannelType]
    """The channel, as it is registered."""

    bench: ClassVar[type[ChannelBench]] = ChannelBench
    """What opens the channel for a test; a subclass of `ChannelBench` for one that needs more than a directory."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name, trait in needed_traits(cls) if hasattr(cls, "channel") else ():
            if not getattr(cls.channel.traits, trait):
                setattr(cls, name, None)  # pytest collects methods only


def needed_traits(tests: type) -> list[tuple[str, str]]:
    """Return the name and the trait of each test that fits only channels with a trait."""
    marked = ((name, trait_of(getattr(tests, name))) for name in dir(tests))
    return [(name, trait) for name, trait in marked if trait]
