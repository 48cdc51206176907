"""The declared capabilities of sinks, known without running them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blueprint.catalog.connectors import Connector
from blueprint.catalog.options import Option

OutputMode = Literal["append", "update", "complete"]
"""The output modes of a streaming query, as in Spark."""


OUTPUT_MODES: tuple[OutputMode, ...] = ("append", "update", "complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOption(Option):
    """An option of a sink.

    A path is a directory that only this sink writes: a relative one starts in the directory of the file that sets it,
    verification reports two writers of it, and tests move it.

    Arguments:
        in_tests: whether it applies in tests, which set no options that change what was written before.
        required_for: the output modes in which it must be set.
        output_modes: the output modes in which it can be set.
    """

    in_tests: bool = True
    required_for: tuple[OutputMode, ...] = ()
    output_modes: tuple[OutputMode, ...] = OUTPUT_MODES


SINK_NOT_INSTALLED = (
    "for another one, install the package that registers it; for one of your own, run `pip install -e .`"
)
"""The help for the name of a sink that is not registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTraits:
    """The capabilities of a sink.

    Arguments:
        name: the name by which a blueprint selects it.
        description: what it writes, in one sentence.
        guarantee: whether the output has the records of a batch once, or maybe several times, if the batch runs again
            after a failure; `none` if it does not store records.
        options: its options, in the order of the documentation.
        output_modes: the output modes of queries that it accepts.
        partitioning: whether it can partition its output by columns.
        nested: whether it accepts columns of records, arrays and maps, and binary ones.
        refused_types: the types of Spark's DDL that it cannot store, as columns or inside them.
        one_string: whether a record must be one column of type string, besides the partition columns.
        exclusive: pairs of options of which only one can be set.
        passes_on: the beginnings of the names of further options, which are passed on unchecked, such as `kafka.`; an
            empty one stands for all names.
        write_ahead_log: whether the output has all records after a restart, because the query continues from the log in
            its checkpoint.
        connector: what Spark needs on its class path; None for nothing.
        package: the Python package that it imports; "" if it needs none besides the dependencies of Streamlets.
        install: the argument of `pip install` that installs the package.
    """

    name: str
    description: str
    guarantee: Literal["exactly-once", "at-least-once", "none"]
    options: tuple[SinkOption, ...] = ()
    output_modes: tuple[OutputMode, ...] = ("append",)
    partitioning: bool = False
    nested: bool = True
    refused_types: tuple[str, ...] = ()
    one_string: bool = False
    exclusive: tuple[tuple[str, str], ...] = ()
    passes_on: tuple[str, ...] = ()
    write_ahead_log: bool = True
    connector: Connector | None = None
    package: str = ""
    install: str = ""
