"""The available sources: this package's, and the ones that other packages register.

A package registers a source by an entry point of the group `streamlets.sources`: its name is the source's, its value a
`SourceType`, such as `my_package.source:MySource`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from streamlets.ingress.sources.base import SourceType
from streamlets.plugins import PluginError, Plugins

SOURCES: Mapping[str, SourceType] = Plugins(
    "streamlets.sources",
    "source",
    {
        "csv": "streamlets.ingress.sources.files.types:CsvSource",
        "json": "streamlets.ingress.sources.files.types:JsonSource",
        "text": "streamlets.ingress.sources.files.types:TextSource",
        "avro": "streamlets.ingress.sources.files.types:AvroSource",
        "parquet": "streamlets.ingress.sources.files.types:ParquetSource",
        "http": "streamlets.ingress.sources.http.type:HttpSource",
        "jdbc": "streamlets.ingress.sources.jdbc:JdbcSource",
    },
    requires=("traits", "open", "discovery"),
)
"""The available sources by name."""


def available_sources() -> dict[str, SourceType]:
    """Return the sources by name, without sources of other packages that cannot be used."""
    sources = {}
    for name in SOURCES:
        with suppress(PluginError):
            sources[name] = SOURCES[name]
    return sources
