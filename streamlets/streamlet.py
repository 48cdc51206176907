"""`SparkStreamlet`: the class an author writes: ports, parameters and mounts declared, and a logic that runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from blueprint.catalog import ParameterProblem
from streamlets.errors import StreamletError
from streamlets.mounts import VolumeMount
from streamlets.parameters import Parameter
from streamlets.ports import AvroInlet, AvroOutlet
from streamlets.shape import StreamletShape

if TYPE_CHECKING:
    from streamlets.context import SparkStreamletContext
    from streamlets.execution import StreamletExecution
    from streamlets.logic import SparkStreamletLogic

D = TypeVar("D")


class SparkStreamlet:
    """A stage of a streaming application: its ports, its parameters, and its logic.

    Inlets, outlets, parameters and volume mounts are class attributes; the class `Logic` inside holds what runs.
    An instance is made only to be described or run: it has no state and its constructor no arguments and no effects.

    Attributes:
        labels: words to find it by.
        Logic: the class of its logic; or override `create_logic`.
    """

    labels: ClassVar[tuple[str, ...]] = ()
    Logic: ClassVar[type[SparkStreamletLogic[Any]]]

    @property
    def description(self) -> str:
        """What it does: the class's own docstring, its first paragraph on one line."""
        documented = inspect.cleandoc(type(self).__dict__.get("__doc__") or "")
        return " ".join(documented.split("\n\n")[0].split())

    @property
    def shape(self) -> StreamletShape:
        """Its inlets and outlets: all ports that are attributes, in the order of their declaration."""
        return StreamletShape(*declared(self, AvroInlet), *declared(self, AvroOutlet))

    def check_parameters(self, values: Mapping[str, Any]) -> Iterable[ParameterProblem]:
        """What is wrong with the values of its config parameters: what their types cannot say, or how they go together.

        Override it and `flow verify` tells the problems at their places. It is asked only when each value fits its
        parameter, must have no effects, and must not look at anything but the values.

        Arguments:
            values: as `value(parameter)` gives them, by key, defaults included; optional ones may be missing.
        """
        return ()

    def written_folders(self, values: Mapping[str, Any]) -> Mapping[tuple[str, ...], str]:
        """The folders outside of topics that it writes, so that `flow verify` tells when another streamlet does, too.

        Arguments:
            values: as for `check_parameters`, which has found nothing wrong with them.

        Returns:
            Folders, relative ones below the blueprint's, by the parameter that says so: its key, then keys inside its
            value.
        """
        return {}

    def create_logic(self, context: SparkStreamletContext) -> SparkStreamletLogic[Any]:
        """What runs, made anew for each start.

        Raises:
            StreamletError: the class has no `Logic`.
        """
        logic: type[SparkStreamletLogic[Any]] | None = getattr(self, "Logic", None)
        if logic is None:
            raise StreamletError(f"`{type(self).__name__}` has no class `Logic` inside, so there is nothing to run")
        return logic(self, context)

    def run(self, context: SparkStreamletContext) -> StreamletExecution:
        """Start all its queries.

        Arguments:
            context: what it runs in; its ports must be joined already.

        Raises:
            StreamletError: its logic asks for something that cannot be.
        """
        from streamlets.execution import run

        return run(self, context)


def declared(streamlet: SparkStreamlet, kind: type[D]) -> tuple[D, ...]:
    """The attributes of a streamlet that are of a kind (ports, parameters, mounts), base classes first.

    A name that a subclass declares anew hides the inherited one, as with any attribute.
    """
    found = {name: value for name, value in _attributes(streamlet) if isinstance(value, kind)}
    visible = {name: value for name, value in found.items() if getattr(streamlet, name, None) is value}
    return tuple({id(value): value for value in visible.values()}.values())


def _attributes(streamlet: SparkStreamlet) -> Iterator[tuple[str, object]]:
    for owner in reversed(type(streamlet).__mro__):
        yield from vars(owner).items()
    for name, value in vars(streamlet).items():
        if isinstance(value, (AvroInlet, AvroOutlet, Parameter, VolumeMount)):
            value.__set_name__(type(streamlet), name)
        yield name, value
