"""`streamlets.Source`: an ingress by configuration, without a class of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from blueprint.catalog import ExternalResources, FilledOutlet, ParameterProblem
from blueprint.hocon.values import ObjectValue
from blueprint.known_keys import KnownKey, KnownValue
from blueprint.settings.options import option_keys, typed_options
from blueprint.settings.sources import source_problems, unknown_source
from streamlets.api.parameters import ObjectParameter, StringParameter
from streamlets.api.ports import AvroOutlet
from streamlets.api.streamlet import Configuration
from streamlets.ingress.batch_sources.context import Eat, SourceContext
from streamlets.ingress.batch_sources.discovery_findings import discovery_keys
from streamlets.ingress.batch_sources.streamlet import BatchSource
from streamlets.ingress.sources.base import OpenSource, SourceItem
from streamlets.ingress.sources.registry import SOURCES, available_sources
from streamlets.plugins import PluginError


class Source(BatchSource):
    """Reads records from files, or from a source of another package, into a topic.

    In the blueprint:

        orders {
          class = streamlets.Source
          outlets.out = "id long, product string, price double"
          parameters { from = csv, options { path = data } }
        }

    `streamlets.ingress.sources.SOURCES` has the values of `from`, and the options of each source.
    """

    out = AvroOutlet("out", on_invalid="dead-letters")
    source = StringParameter("The name of the source that the records are read from", key="from")
    options = ObjectParameter("The options of the source", default={})
    discovery = ObjectParameter(
        "When to discover tasks: `triggerer`, and `config` for it; the default depends on the source", default={}
    )

    _opened: OpenSource | None = None
    _items: Iterator[SourceItem] = iter(())

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None:
        """Open the source."""
        source = SOURCES[config[self.source.key]]
        options = typed_options(source.traits, config[self.options.key], context.directory)
        self._opened = source.open(options, context)

    def discover(self, eat: Eat, event: str) -> None:
        """Have the source discover."""
        assert self._opened is not None, "it was opened"
        self._opened.discover(eat, event)

    def prepare(self, task: Any) -> None:
        """Begin to read a task."""
        assert self._opened is not None, "it was opened"
        self._items = self._opened.read(task)

    def read_next(self) -> SourceItem | None:
        """Return the next records of the task."""
        return next(self._items, None)

    def close(self) -> None:
        """Close the source."""
        if self._opened is not None:
            self._opened.close()

    def triggering(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return `discovery`, completed with the default of the source.

        Arguments:
            values: as for `BatchSource.triggering`.
        """
        written: Mapping[str, Any] = values[self.discovery.key]
        source = SOURCES[values[self.source.key]]
        default = source.discovery(values[self.options.key])
        if written.get("triggerer", default["triggerer"]) != default["triggerer"]:
            return written
        config = written.get("config", {})
        both = {**default["config"], **config} if isinstance(config, Mapping) else config
        return {"triggerer": default["triggerer"], **written, "config": both}

    def check_parameters(self, values: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Check the settings against the source, and whether its package is installed.

        Arguments:
            values: the typed values of all parameters by key.
        """
        try:
            source = SOURCES[values[self.source.key]]
        except KeyError:
            yield unknown_source(values[self.source.key], SOURCES)
            return
        except PluginError as error:
            yield ParameterProblem((self.source.key,), str(error))
            return
        yield from super().check_parameters(values)
        traits, options = source.traits, values[self.options.key]
        if traits.package and importlib.util.find_spec(traits.package) is None:
            message = f"the source `{traits.name}` requires the package `{traits.package}`, which is not installed"
            yield ParameterProblem((self.source.key,), message, (f"run `pip install '{traits.install}'`",))
        problems = list(source_problems(traits, options))
        yield from problems or source.option_problems(typed_options(traits, options))

    def known_keys(
        self, parameters: Mapping[str, object], columns: Mapping[str, Mapping[str, str]]
    ) -> Iterator[KnownKey]:
        """Yield the sources, the options of the source that is set, and the triggerers.

        Arguments:
            parameters: as for `Streamlet.known_keys`.
            columns: as for `Streamlet.known_keys`.
        """
        sources = {name: source.traits for name, source in available_sources().items()}
        values = (KnownValue(name, traits.guarantee, traits.description) for name, traits in sources.items())
        yield KnownKey(path=(self.source.key,), values=tuple(values))
        traits = sources.get(str(parameters.get(self.source.key)))
        discovery = parameters.get(self.discovery.key)
        if traits is not None:
            yield from option_keys(traits, columns.get(self.out.name, {}))
            written = discovery if isinstance(discovery, Mapping) else {}
            discovery = {"triggerer": traits.discovery["triggerer"], **written}
        yield from discovery_keys(discovery)

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the files that are read, the schema that is filled, and the findings about the triggerer."""
        values = configuration.values
        source, options = SOURCES[values[self.source.key]], values[self.options.key]
        resources = super().external_resources(self._completed(configuration))
        fills = (FilledOutlet(self.out.name, source.traits, options),)
        reads = tuple(source.reads(typed_options(source.traits, options)))
        return replace(resources, fills=fills, reads=reads or resources.reads)

    def _completed(self, configuration: Configuration) -> Configuration:
        """Return the configuration whose `discovery` has the places of the options that its default refers to."""
        written = configuration.written
        discovery, options = written[self.discovery.key], written[self.options.key]
        if not isinstance(discovery, ObjectValue) or not isinstance(options, ObjectValue):
            return configuration
        config = discovery.get("config")
        own = config if isinstance(config, ObjectValue) else options
        fields = {**options.fields, **(own.fields if own is config else {})}
        completed = replace(own, fields=fields)
        place = replace(discovery if discovery.fields else options, fields={**discovery.fields, "config": completed})
        return replace(configuration, written={**written, self.discovery.key: place})
