"""Facts about providers, as plain data: `SAVE STREAM ... TO` a sink, `CREATE STREAM ... FROM` a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from blueprint.catalog import SinkTraits


@dataclass(frozen=True, slots=True)
class StreamSource:
    """The capabilities of a source of streams.

    Arguments:
        columns: whether a stream must list its columns, may do so, or must not, because the source has fixed ones.
        required: the required options; each entry has alternatives, exactly one of which must be set.
        options: the names of further options; None if any option is passed to the source unchecked.
        prefixes: the prefixes of options that the source passes on.
    """

    columns: Literal["required", "optional", "fixed"] = "optional"
    required: tuple[tuple[str, ...], ...] = ()
    options: tuple[str, ...] | None = None
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers of an installation, by their names in lower case.

    Arguments:
        sinks: where a stream can be saved.
        sources: where a stream can come from. A provider with a dot in its name, the class of a source, is not checked.
    """

    sinks: Mapping[str, SinkTraits] = field(default_factory=dict)
    sources: Mapping[str, StreamSource] = field(default_factory=dict)
