"""`Streamlet`: ports, parameters and volume mounts; `SparkStreamlet`: a streamlet with a logic on Spark."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from blueprint.avro.model import type_text
from blueprint.catalog import SPARK, ExternalResources, Kind, ParameterProblem
from blueprint.html import html_table, html_text
from streamlets.api.declaration import declarations
from streamlets.api.errors import StreamletError
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.shape import StreamletShape

if TYPE_CHECKING:
    from blueprint.hocon.values import Value
    from blueprint.known_keys import KnownKey
    from streamlets.api.context import SparkStreamletContext
    from streamlets.api.execution import StreamletExecution
    from streamlets.api.logic import SparkStreamletLogic


@dataclass(frozen=True, slots=True)
class Configuration:
    """The values of the config parameters of a streamlet, each of which is valid by itself.

    Arguments:
        values: the typed values by key, as `check_parameters` gets them.
        written: the values by key as they are written, with their places; defaults are written in the class.
        directory: the absolute directory of the blueprint.

    Example:
        >>> from pathlib import Path
        >>> from streamlets import Configuration
        >>> Configuration({"export": "out"}, {}, Path("/data")).values["export"]
        'out'
    """

    values: Mapping[str, Any]
    written: Mapping[str, Value]
    directory: Path


class Streamlet:
    """A stage of a streaming application: its ports and its parameters.

    Inlets, outlets, parameters and volume mounts are class attributes. Instances are created to describe or run the
    streamlet. They have no state, and the constructor has neither arguments nor effects.

    Attributes:
        kind: what runs it, see `streamlets/runner/kinds.py`. Base classes set it, such as `SparkStreamlet`.
        labels: search terms.

    Example:
        >>> from streamlets import AvroOutlet, IntegerParameter, Streamlet
        >>> class Source(Streamlet):
        ...     out = AvroOutlet(schema="id long")
        ...     size = IntegerParameter("Records in a batch", default=100)
        >>> [port.name for port in Source().shape.ports]
        ['out']
    """

    kind: ClassVar[Kind]
    labels: ClassVar[tuple[str, ...]] = ()

    def _repr_html_(self) -> str:
        """Return the ports and parameters for a notebook; a schema that cannot be read is shown as it is declared."""
        ports = []
        for port in (*declarations(self, AvroInlet), *declarations(self, AvroOutlet)):
            contract = port.contract()
            fields = (
                ", ".join(f"`{field.name}` {type_text(field.schema)}" for field in contract.record.fields)
                if contract
                else ""
            )
            ports.append((f"`{port.name}`", port.kind, fields or ("" if port.schema is None else str(port.schema))))
        parameters = [
            (f"`{own.key}`", own.kind.value, "" if own.default is None else f"`{own.default}`", own.description)
            for own in declarations(self, Parameter)
        ]
        return (
            f"<p><b>{type(self).__name__}</b>: {html_text(self.description)}</p>"
            + html_table("ports", ("port", "kind", "fields"), ports)
            + html_table("parameters", ("parameter", "type", "default", "meaning"), parameters)
        )

    @property
    def description(self) -> str:
        """The first paragraph of the class's own docstring, on one line."""
        documented = inspect.cleandoc(type(self).__dict__.get("__doc__") or "")
        return " ".join(documented.split("\n\n")[0].split())

    @property
    def shape(self) -> StreamletShape:
        """The inlets and outlets: all ports that are attributes, in the order of their declaration."""
        return StreamletShape(*declarations(self, AvroInlet), *declarations(self, AvroOutlet))

    def declare_ports(self, inlets: Iterable[str], outlets: Iterable[str]) -> None:
        """Declare the ports that the blueprint names, if the class leaves its ports to the blueprint.

        It is called once for each instance, before anything else. The default declares nothing: the ports are the ones
        that the class declares.

        Arguments:
            inlets: the names of the inlets.
            outlets: the names of the outlets.
        """
        return

    def check_parameters(self, values: Mapping[str, Any]) -> Iterable[ParameterProblem]:
        """Return the problems of config parameters that their types cannot express, such as contradicting values.

        Override it, and `flow verify` reports the problems where the values are set. It is called only if each value is
        valid by itself. It must not have effects, and must depend on nothing but the values.

        Arguments:
            values: the values by key, as `value(parameter)` returns them, including defaults; values of optional
                parameters may be missing.
        """
        return ()

    def known_keys(
        self, parameters: Mapping[str, object], columns: Mapping[str, Mapping[str, str]]
    ) -> Iterable[KnownKey]:
        """Return keys and values that the parameters may have and their declarations do not express, for editors.

        Arguments:
            parameters: the configured values by key, and the defaults of others; they may have mistakes, and required
                ones may be missing.
            columns: the types of columns by port and column; a port without a schema is missing.
        """
        return ()

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the resources that the streamlet reads, writes and requires outside of its topics; none by default.

        `flow verify` reports two writers of a directory, a reader of what the application writes, and two users of a
        TCP port. It is called only if `check_parameters` has returned no problems.

        Arguments:
            configuration: the values of the config parameters.
        """
        return ExternalResources()


class SparkStreamlet(Streamlet):
    """A streamlet with a logic on Spark: the nested class `Logic` builds the queries.

    Attributes:
        Logic: the class of its logic; alternatively, override `create_logic`.

    Example:
        >>> from pyspark.sql import functions as F
        >>> from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic
        >>> class Alarm(SparkStreamlet):
        ...     readings = AvroInlet(schema="station string, celsius double")
        ...     alarms = AvroOutlet(schema="station string, celsius double")
        ...
        ...     class Logic(SparkStreamletLogic["Alarm"]):
        ...         def build_streaming_queries(self):
        ...             hot = self.read_stream(self.streamlet.readings).where(F.col("celsius") > 90)
        ...             return self.write_stream(hot, self.streamlet.alarms)
        >>> [port.name for port in Alarm().shape.ports]
        ['readings', 'alarms']
    """

    kind = SPARK
    Logic: ClassVar[type[SparkStreamletLogic[Any]]]

    def create_logic(self, context: SparkStreamletContext) -> SparkStreamletLogic[Any]:
        """Create the logic; it is called for each start of the streamlet.

        Arguments:
            context: the settings, session and directories of this start.

        Raises:
            StreamletError: the class has no `Logic`.
        """
        logic: type[SparkStreamletLogic[Any]] | None = getattr(self, "Logic", None)
        if logic is None:
            raise StreamletError(f"`{type(self).__name__}` has no class `Logic`, so there is nothing to run")
        return logic(self, context)

    def run(self, context: SparkStreamletContext) -> StreamletExecution:
        """Start all queries.

        Arguments:
            context: the context of the run; its ports must be connected.

        Raises:
            StreamletError: its logic uses the API in an invalid way.
        """
        from streamlets.api.execution import run

        return run(self.create_logic(context), context)
