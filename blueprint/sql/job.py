"""A job: its streams, its queries, and where each query keeps its checkpoint."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.catalog import OutputMode
from blueprint.sql.statements import CreateStream, Option, SaveStream, SparkSql, Word
from blueprint.trigger import Trigger

JOB_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,127}")
"""The names of jobs (PSTL's rule): a letter, then letters, digits and `_`; 3 to 128 characters."""

CHECKPOINT_LOCATION = "checkpointlocation"
POOL = "spark.scheduler.pool"


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a job.

    Arguments:
        name: its name, unique in the job.
        statement: its `SAVE STREAM`.
        sink: the name of the sink, in lower case; "" for a query that writes to an outlet.
        output_mode: `append`, `complete` or `update`.
        trigger: None means as fast as possible.
        options: the options of the sink, by the names that the sink gives them.
        retry: the options `pstl.retry.*`.
        outlet: the outlet that it writes to, as the blueprint names it; None if it writes to a sink.
        checkpoint: the option with an explicit directory of the checkpoint; None for the usual one.
        pool: the option with the scheduler pool of its batches; None for Spark's default.
    """

    name: str
    statement: SaveStream
    sink: str
    output_mode: OutputMode
    trigger: Trigger | None
    options: Mapping[str, Option]
    retry: tuple[Option, ...]
    checkpoint: Option | None
    pool: Option | None
    outlet: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job without mistakes.

    Arguments:
        definitions: what is defined before queries start: streams, and statements of Spark SQL, in their order.
        queries: the queries in their order.
    """

    definitions: tuple[CreateStream | SparkSql, ...]
    queries: tuple[Query, ...]

    @property
    def streams(self) -> tuple[CreateStream, ...]:
        """The streams in their order."""
        return tuple(definition for definition in self.definitions if isinstance(definition, CreateStream))

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the streams and views that the job defines."""
        return tuple(name.text for name in map(defined_name, self.definitions) if name is not None)


def table_name(port: str) -> str:
    """Return the name that an inlet or outlet has in statements: the name of a port may have `-`."""
    return port.replace("-", "_")


def defined_name(definition: CreateStream | SparkSql) -> Word | None:
    """Return the name of the stream or view that a statement defines, without its database; None if there is none."""
    if isinstance(definition, CreateStream):
        return definition.name
    return definition.defines.parts[-1] if definition.defines is not None else None


def normal_path(path: str) -> str:
    """Return the same text for all notations of a directory: `/a/b/`, `/a//b`, `file:/a/b`."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return posixpath.normpath(path)
    normal = re.sub(r"^/+", "/", posixpath.normpath(rest)) if scheme == "file" else posixpath.normpath(rest)
    return normal if scheme == "file" else f"{scheme}:{normal}"
