"""The kinds of files in a state directory: who writes them, and what happens if one is missing or damaged.

The documentation has this table, and tests damage a file of each kind under each command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal

Damage = Literal["error", "fallback", "unused"]
"""The effect of a missing or damaged file: an error that names it, or no loss, because what it has can be done
without or found elsewhere, or nothing, because nothing reads it."""


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Arguments:
        name: its name, for display.
        pattern: the paths below the directory of the application; `*` is a part of a path, `**` any number of parts.
        writer: what writes it.
        damage: what happens if it is missing or damaged.
        outcome: the same, in words.
        missing: what happens if it is missing, if that differs from a damaged one.
    """

    name: str
    pattern: str
    writer: str
    damage: Damage
    outcome: str
    missing: Damage | None = None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        text = re.escape(self.pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
        return re.compile(text)

    def matches(self, path: PurePosixPath) -> bool:
        """Return whether a path below the directory of the application is of this kind."""
        return self._expression.fullmatch(path.as_posix()) is not None


_KAFKA = "topics/_kafka"
_LOG = "topics/*/*/_delta_log"
_CHECKPOINT = "checkpoints/*/*"
_DRAFT = "a draft is replaced; it is deleted if its writer was killed"

FILES = (
    FileKind("lock", "lock", "`flow run`", "fallback", "created by the next run; its content is only for display"),
    FileKind(
        "descriptor", "descriptor.json", "`flow run`", "error",
        "commands that compare with the last version report it; without the file there is nothing to compare with",
        "fallback",
    ),
    FileKind(
        "descriptor of the version before", "previous-descriptor.json", "`flow run`", "fallback",
        "the page does not show what the last version has changed",
    ),
    FileKind(
        "places of the project", "places.json", "`flow run`", "error",
        "the run does not start; without the file, paths of before an earlier move of the project are not recognized",
        "fallback",
    ),
    FileKind("status", "status/status.json", "`flow run`", "fallback", "`flow status` reports that it is not known"),
    FileKind("reserve of the status", "status/.status.json.*", "`flow run`", "unused", "created again"),
    FileKind("arguments of the run", "status/launch.json", "`flow run`", "fallback", "an upgrade needs all arguments"),
    FileKind("outcome of an upgrade", "status/upgrade.json", "`flow upgrade`", "fallback", "it is not shown"),
    FileKind("paused streamlets", "status/paused.json", "`flow pause`", "error",
             "the run does not start; without the file no streamlet is paused", "fallback"),
    FileKind("lease of a spout", "status/spouts/*/*.json", "a spout", "fallback", "the spout takes the next epoch"),
    FileKind("report of a spout", "status/spouts/*/report", "a spout", "fallback", "counts begin again at 0"),
    FileKind("samples", "status/samples/*.jsonl", "`flow run`", "fallback", "curves and timelines have a gap"),
    FileKind("status of a driver", "status/**", "a driver process", "fallback", "written again"),
    FileKind("progress of a discovery", "discovery/*/progress.json", "a batch source", "fallback",
             "the last discovery is shown as unknown"),
    FileKind("request to repeat a task", "discovery/*/retries/*.json", "`flow tasks retry`", "error",
             "the source reports it; without the file the task stays failed", "fallback"),
    FileKind("record of a deletion", "deletion.json", "`flow run`", "error",
             "the run does not start; without the file, topics that are left are read again", "fallback"),
    FileKind("history of events", "logs/events.jsonl*", "`flow run`", "fallback",
             "the events on damaged lines are not shown"),
    FileKind("log", "logs/**", "the run, Spark, spouts", "unused", "only for people"),
    FileKind("request to a runner", "control/**", "`flow stop` and others", "fallback", "the command has no effect"),
    FileKind("records that a webhook has taken", "staging/*/*/*/sent", "a webhook sink", "error",
             "the query reports it; without the file the records of the batch are sent again", "fallback"),
    FileKind("sizes of a webhook's files", "staging/*/*/*/sizes.json", "a webhook sink", "error",
             "the query reports it if the batch is not committed"),
    FileKind("records for a webhook", "staging/*/*/*/records/*", "a webhook sink", "error",
             "the query reports it if the batch is not committed"),
    FileKind("staged data", "staging/**", "a spout", "fallback", "a transaction that was not committed is sent again"),
    FileKind("temporary file", "tmp/**", "the run", "unused", "emptied by each run"),
    FileKind("backfill", "backfills/*/backfill.json", "`flow backfill`", "error",
             "`flow backfill` and `flow backfills` report it; without the file there is no such backfill", "fallback"),
    FileKind("state of a backfill", "backfills/**", "`flow backfill`", "unused",
             "as here for the files of an application; a run does not read it"),
    FileKind("settings of a topic on Kafka", f"{_KAFKA}/topics/*/settings.json", "`flow run`", "error",
             "commands report it; without the file, those without a blueprint do not find the topic's cluster, and "
             "a topic that has left the blueprint is not deleted", "fallback"),
    FileKind("id of a topic on Kafka", f"{_KAFKA}/topics/*/topic.json", "the first run", "error",
             "readers and writers report it; without the file the topic that exists is taken for the one that was used",
             "fallback"),
    FileKind("decision to replay on Kafka", f"{_KAFKA}/topics/*/replays/*.json", "`flow dead-letters replay`", "error",
             "what reads dead letters reports it; if the last one is missing, the next replay does", "fallback"),
    FileKind("schema of a writer to Kafka", f"{_KAFKA}/schemas/**", "a writer", "fallback",
             "the cluster has it, too; if it does not, readers report the file"),
    FileKind("schemas that an inlet knows", f"{_KAFKA}/inlets/**", "a query", "error",
             "the query reports it; without the file, a dead letter of a repeated batch may become a record",
             "fallback"),
    FileKind("begun batch", f"{_KAFKA}/begun/*", "a query", "error",
             "the query reports it; without the file it is unknown whether a batch was written in part", "fallback"),
    FileKind("plan of a batch for Kafka", f"{_KAFKA}/staged/*/*/_shares.json", "a query", "error",
             "the query reports it if the batch is not committed; without the file the batch is computed again; "
             "exactly-once outlets refuse what Kafka has already", "fallback"),
    FileKind("checksum of messages", f"{_KAFKA}/staged/**.crc", "Spark", "unused", "nothing reads it"),
    FileKind("messages of a batch for Kafka", f"{_KAFKA}/staged/**", "a query", "error",
             "the query reports it if the batch is not committed"),
    FileKind("id of a topic", "topics/*/_topic.json", "the first run", "error",
             "readers and writers report it; without the file the topic gets a new id, and its readers report that"),
    FileKind("manifest of a batch", "topics/_staged/*/*.json", "a query", "error",
             "the query reports it; without the file the batch is computed again", "fallback"),
    FileKind("topic that is being deleted", "topics/_deleted/**", "`flow run`", "unused",
             "deleted by the next deletion"),
    FileKind("note of missed records", "topics/*/_missed/*.json", "retention", "error",
             "the run reports it; without the file the loss is not reported", "fallback"),
    FileKind("decision to replay", "topics/*/_replays/*.json", "`flow dead-letters replay`", "error",
             "what reads dead letters reports it; if the last one is missing, the next replay does", "fallback"),
    FileKind("time of the last sweep", "topics/*/*/_swept", "maintenance", "fallback", "swept again"),
    FileKind("first commit of a table", f"{_LOG}/00000000000000000000.json", "the first writer", "error",
             "readers and writers report it"),
    FileKind("commit", f"{_LOG}/*.json", "a writer, maintenance", "error",
             "readers and writers report it with the range that is affected"),
    FileKind("checkpoint of a log", f"{_LOG}/*.checkpoint.parquet", "maintenance", "error",
             "readers and writers report it"),
    FileKind("name of the last checkpoint", f"{_LOG}/_last_checkpoint", "maintenance", "fallback",
             "the log is listed"),
    FileKind("draft of a commit", f"{_LOG}/.*", "a writer", "unused", _DRAFT),
    FileKind("checksum of records", "topics/*/*/data/**.crc", "Spark", "unused", "nothing reads it"),
    FileKind("records", "topics/*/*/data/**", "a writer, maintenance", "error",
             "readers report it with the versions that are affected"),
    FileKind("checksum of a checkpoint", f"{_CHECKPOINT}/**.crc", "Spark", "fallback",
             "Spark does not check the file"),
    FileKind("id of a query", f"{_CHECKPOINT}/metadata", "Spark", "error", "the query reports it"),
    FileKind("plan of a batch", f"{_CHECKPOINT}/offsets/*", "Spark", "error", "the query reports it"),
    FileKind("commit of a batch", f"{_CHECKPOINT}/commits/*", "Spark", "fallback",
             "the batch is replayed, which topics recognize"),
    FileKind("begin of a source", f"{_CHECKPOINT}/sources/**", "Spark", "error", "the query reports it"),
    FileKind("state", f"{_CHECKPOINT}/state/**", "Spark", "error", "the query reports it"),
    FileKind("columns of windows", f"{_CHECKPOINT}/windows.json", "the run", "fallback",
             "open windows are shown without their times"),
    FileKind("owner of a linked checkpoint", f"{_CHECKPOINT}/streamlets-owner.json", "the run", "error",
             "the query reports it"),
    FileKind("followed-up positions", f"{_CHECKPOINT}/**", "the run", "error", "the query reports it"),
)  # fmt: skip
"""The kinds of files, the special ones before the general ones."""


def kind_of(path: PurePosixPath) -> FileKind | None:
    """Return the kind of a file by its path below the directory of the application, None if none is known."""
    return next((kind for kind in FILES if kind.matches(path)), None)


def unknown_files(paths: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Return the paths of files that are of no known kind."""
    return [path for path in paths if kind_of(path) is None]


def table() -> str:
    """Return the kinds of files as a table in Markdown, which the documentation has."""
    rows = [f"| {kind.name} | `{kind.pattern}` | {kind.writer} | {kind.outcome} |" for kind in FILES]
    return "\n".join(["| file | path | written by | if it is missing or damaged |", "| --- | --- | --- | --- |", *rows])
