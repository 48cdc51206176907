"""`SparkStreamlet`: the class an author writes: ports, parameters and mounts declared, and a logic that runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from blueprint.catalog import ParameterProblem
from streamlets.api.attributes import attributes
from streamlets.api.errors import StreamletError
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.shape import StreamletShape

if TYPE_CHECKING:
    from streamlets.api.context import SparkStreamletContext
    from streamlets.api.execution import StreamletExecution
    from streamlets.api.logic import SparkStreamletLogic


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
        return StreamletShape(*attributes(self, AvroInlet), *attributes(self, AvroOutlet))

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
            Directories by the parameter that names them: its key, then keys inside its value. A relative one starts
            beside the file that sets the parameter; the logic gets it as an absolute path.
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
        from streamlets.api.execution import run

        return run(self.create_logic(context).build(), context)
