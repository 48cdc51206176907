"""`streamlets.Spout` and `streamlets.GeneratorSpout`: the base classes of spouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blueprint.catalog import ExternalResources, Kind, ListeningPort
from streamlets.api.errors import StreamletError
from streamlets.api.parameters import (
    DurationParameter,
    ListParameter,
    ObjectParameter,
    PathParameter,
    StringParameter,
)
from streamlets.api.ports import AvroOutlet
from streamlets.api.shape import StreamletShape
from streamlets.api.streamlet import Configuration, Streamlet

if TYPE_CHECKING:
    from blueprint.known_keys import KnownKey
    from streamlets.ingress.spouts.generator import SpoutOutput, SpoutTransaction


class _Spout(Streamlet):
    """The base class of all spouts."""

    kind = Kind("spout", completes=True, transactions=True, command="cmd")

    @property
    def shape(self) -> StreamletShape:
        """The outlets.

        Raises:
            StreamletError: the class has an inlet.
        """
        shape = super().shape
        if shape.inlets:
            raise StreamletError(f"a spout has no inlets, found `{shape.inlets[0].name}`", shape.inlets[0].declared)
        return shape

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the port of the service."""
        port = configuration.values.get("service", {}).get("port")
        return ExternalResources(listening=(ListeningPort(("service", "port"), port),) if port is not None else ())


class Spout(_Spout):
    """Runs a program that delivers data with `flow put`, or with `streamlets.spout` in Python.

    In the blueprint:

        orders {
          class = streamlets.Spout
          outlets.out = schemas/Order.avsc
          parameters { cmd = [sh, poll.sh], codec = json-lines }
        }

    Outlets that only the blueprint names write records that break their contract to the dead letters.
    """

    cmd = ListParameter("The program and its arguments")
    env = ObjectParameter("Its environment variables, besides a few such as `PATH` and `HOME`", default={})
    stdin = ListParameter("The lines of its standard input", default=[])
    working_dir = PathParameter(
        "Its working directory; by default, the directory of the blueprint", kind="directory", must_exist=True,
        optional=True,
    )  # fmt: skip
    accept_return_codes = ListParameter("Exit codes besides 0 with which it completes", default=[])
    secrets = ObjectParameter("Its secrets by environment variable: `{ env = NAME }` or `{ file = PATH }`", default={})
    service = ObjectParameter("The port that it listens on, as `{ port = 9000 }`", default={})
    heartbeat = DurationParameter(
        "The longest time without a sign of life (a delivery, `spout.alive()`, a line of output), after which it is "
        "stuck; 0 for no limit",
        default="0 seconds",
    )
    stop_timeout = DurationParameter("How long it may take to end after SIGTERM, before SIGKILL", default="10 seconds")
    codec = StringParameter(
        "How files become records: `file`, `lines`, `json-lines`, `csv`, `avro`, or a class of your own",
        default="json-lines",
    )
    codec_options = ObjectParameter("The options of the codec", default={})

    def declare_ports(self, inlets: Iterable[str], outlets: Iterable[str]) -> None:
        """Declare the outlets that the blueprint names; a subclass may have others of its own.

        Arguments:
            inlets: the names of the inlets, which a spout does not have.
            outlets: the names of the outlets.
        """
        own = {port.name for port in super().shape.ports}
        for name in outlets:
            if name not in own:
                port = AvroOutlet(name, on_invalid="dead-letters")
                port.from_blueprint = True
                setattr(self, f"outlet {name}", port)

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the port of the service, and the problems of the program, its secrets and its codec."""
        from streamlets.ingress.spouts.codecs import codec_problems
        from streamlets.ingress.spouts.settings import program_problems

        values = configuration.values
        problems = (
            *program_problems(values, configuration.directory),
            *codec_problems(values[self.codec.key], values[self.codec_options.key]),
        )
        return ExternalResources(problems=problems) if problems else super().external_resources(configuration)

    def known_keys(
        self, parameters: Mapping[str, object], columns: Mapping[str, Mapping[str, str]]
    ) -> Iterator[KnownKey]:
        """Yield the codecs, and the options of the codec that is set.

        Arguments:
            parameters: as for `Streamlet.known_keys`.
            columns: as for `Streamlet.known_keys`.
        """
        from streamlets.ingress.spouts.codecs import codec_keys

        yield from codec_keys(parameters.get(self.codec.key))


class GeneratorSpout(_Spout, ABC):
    """Delivers what its method `run` yields.

    Example:
        >>> from streamlets import AvroOutlet, GeneratorSpout
        >>> class Numbers(GeneratorSpout):
        ...     out = AvroOutlet(schema="number long")
        ...
        ...     def run(self, out, resume):
        ...         first = resume or 0
        ...         while True:
        ...             yield out.transaction([{"number": n} for n in range(first, first + 1000)], resume=first + 1000)
        ...             first += 1000
    """

    @abstractmethod
    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        """Yield transactions, each of which is one commit; it is called for each start.

        When the run drains, the generator is closed at its `yield`. So wait with `out.wait`, not with `time.sleep`.

        Arguments:
            out: makes transactions, and has the values of config parameters.
            resume: the resume marker of the last committed transaction; None before the first one.
        """
