"""The sinks `function` and `data-source`: the author's function for `foreachBatch`, or Python data source."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

from blueprint.catalog import ParameterProblem, SinkOption, SinkTraits
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FunctionSink(SinkType):
    """A function that Spark calls with each batch."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="function",
        description="What a function of yours does with each batch (`foreachBatch`).",
        guarantee="at-least-once",
        options=(
            SinkOption(
                name="function",
                description="the function, as `module.function`; it gets the rows, the number of the batch and, by "
                "name, the other options",
                required=True,
            ),
        ),
        output_modes=("append", "update", "complete"),
        passes_on=("",),
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield why the function cannot be called with the options."""
        try:
            function = _imported(str(options["function"]))
            inspect.signature(function).bind(None, 0, **_further(options, "function"))
        except Exception as error:  # noqa: BLE001 - importing runs the author's code
            message = f"the function `{options['function']}` cannot be used: {_reason(error)}"
            yield ParameterProblem(("options", "function"), message)

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that calls the function."""
        function = _imported(str(query.options["function"]))
        further = _further(query.options, "function")
        return SinkWriter(rows.writeStream.foreachBatch(partial(function, **further) if further else function))


class DataSourceSink(SinkType):
    """A Python data source."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="data-source",
        description="What a Python data source of yours writes.",
        guarantee="at-least-once",
        options=(
            SinkOption(
                name="class",
                description="the `pyspark.sql.datasource.DataSource`, as `module.Class`; it gets the other options",
                required=True,
            ),
        ),
        output_modes=("append", "complete"),
        passes_on=("",),
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield why the class is not a data source that writes streams."""
        try:
            source = _imported(str(options["class"]))
            from pyspark.sql.datasource import DataSource

            if not (isinstance(source, type) and issubclass(source, DataSource)):
                raise TypeError("it is not a `pyspark.sql.datasource.DataSource`")
            if source.streamWriter is DataSource.streamWriter:
                raise TypeError("it has no `streamWriter`, so it does not write streams")
        except Exception as error:  # noqa: BLE001 - importing runs the author's code
            message = f"the class `{options['class']}` cannot be used: {_reason(error)}"
            yield ParameterProblem(("options", "class"), message)

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer to the data source, which is registered in the session under a name of its own.

        Two sinks may have different classes of the same name.
        """
        path = str(query.options["class"])
        source = _imported(path)
        name = f"{source.name()}_{crc32(path.encode()):08x}"
        named: Any = type(source.__name__, (source,), {"name": classmethod(lambda cls: name)})
        rows.sparkSession.dataSource.register(named)
        return SinkWriter(rows.writeStream.format(name).options(**_further(query.options, "class")))


def _imported(path: str) -> Any:
    """Return the object to which a path such as `module.name` refers.

    Raises:
        ImportError, AttributeError, ValueError: there is no such thing.
        Exception: the code of the module fails.
    """
    module, _, name = path.rpartition(".")
    if not module:
        raise ValueError("expected a module and a name, such as `my_module.save`")
    return getattr(importlib.import_module(module), name)


def _further(options: Mapping[str, object], own: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != own}


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if not isinstance(error, TypeError | ValueError) else str(error)
