"""All failures that no restart can fix, with the reasons. All other failures are retried."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fatal:
    """A kind of failures.

    Arguments:
        names: a pattern for the complete name of an exception's class, or a complete Spark error condition.
        reason: why the next start would fail in the same way.
        building: whether only failures before the first batch are fatal.
    """

    names: str
    reason: str
    building: bool = False


FATAL = (
    Fatal("StreamletError", "the code requests something impossible"),
    Fatal(
        "BrokenRowsError|BROKEN_ROWS",
        "the same batch is replayed with the same rows; send them to the dead letters with `on_invalid`",
    ),
    Fatal(
        "RecordTooLargeError",
        "the same batch is replayed with the same records; raise `max.message.bytes` of the topic and "
        "`max.request.size` of its producers",
    ),
    Fatal("BatchMismatchError", "a restart does not change the checkpoint"),
    Fatal("TaskSlotsError", "a restart does not add task slots"),
    Fatal("TopicDamagedError|DamagedFileError", "a restart does not repair the files"),
    Fatal("TopicLostError", "the records that it had not read no longer exist"),
    Fatal("UnreadableRecordsError|UNREADABLE_RECORDS", "the records in the topic do not change"),
    Fatal("DamagedCheckpointError", "a restart does not repair the files"),
    Fatal("CheckpointMisfitError", "a restart does not change the checkpoint"),
    Fatal("SessionError", "Spark refuses the settings"),
    Fatal("ExistingFilesError", "the sink keeps files and tables of an earlier checkpoint, unless `existing` is set"),
    Fatal("TableMismatchError", "the columns of the table do not change by themselves"),
    Fatal("RefusedBatchError", "the database would refuse the same batch again; change the table or the logic"),
    Fatal("KeysError", "the same batch is replayed with the same records"),
    Fatal("LoadError", "the code does not load"),
    # The same code without input raises the same error again. OSError is not here: networks recover.
    Fatal(
        "(Type|Name|Attribute|Import|ModuleNotFound|Syntax|Indentation|Key|Index|NotImplemented|Assertion|Unbound)Error"
        "|UnboundLocalError|ValueError|ZeroDivisionError|RecursionError",
        "building the queries reads no records, so it fails the same way each time",
        building=True,
    ),
    Fatal("AnalysisException|ParseException|IllegalArgumentException", "Spark refuses the plan", building=True),
    Fatal("UNRESOLVED_.*|DATATYPE_MISMATCH.*|MISSING_GROUP_BY.*|.*_NOT_FOUND", "Spark refuses the plan", building=True),
    Fatal("STREAMING_OUTPUT_MODE.*|UNSUPPORTED_STREAMING.*|UNSUPPORTED_OPERATION.*", "Spark refuses the plan"),
    Fatal(
        "WATERMARK_REDEFINED",
        "a query has one watermark; remove `.withWatermark(...)` from the rows of an inlet with `deduplicate`, which "
        "have the watermark of `deduplicate.watermark`",
    ),
    Fatal("DATA_SOURCE_NOT_FOUND", "the package of the format is not installed"),
    Fatal("PARTITIONS_.*|COLUMN_NOT_DEFINED_IN_TABLE|(INVALID_)?STREAMING_REAL_TIME_MODE.*", "Spark refuses the plan"),
    Fatal(
        "STATE_FILE_DAMAGED|CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED|CANNOT_LOAD_STATE_STORE\\.(CANNOT_READ_.*"
        "|CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT|AUTO_SNAPSHOT_REPAIR_FAILED|UNEXPECTED_FILE_SIZE)",
        "a restart does not repair the files; restore the checkpoint from a backup, or reset it with "
        "`flow checkpoints reset`",
    ),
    # A query that is incompatible with its checkpoint. Not among these: a log that could not be written
    # (STREAMING_CHECKPOINT_LOG_WRITE_FAILURE), and a store in an invalid state (STATE_STORE_INVALID_STAMP,
    # STATE_STORE_INVALID_STATE_MACHINE_TRANSITION), which an aborted task leaves behind.
    Fatal(
        "STREAMING_QUERY_EVOLUTION_ERROR.*|STREAMING_STATEFUL_OPERATOR.*|STATE_STORE_.*_SCHEMA_.*"
        "|STATE_STORE_INVALID_(CONFIG|PROVIDER|VALUE|VARIABLE).*|STATE_STORE_(KEY|VALUE)_ROW_FORMAT.*"
        "|STATE_STORE_PROVIDER_.*|STATE_STORE_UNSUPPORTED.*|STREAM_STREAM_JOIN_INCOMPATIBLE.*|CHECKPOINT_SOURCES_CHANGED"
        "|STREAMING_CHECKPOINT_MISSING.*|INCOMPATIBLE_.*OFFSET.*",
        "the query is incompatible with its checkpoint; restore the code, give the query another name, or reset the "
        "checkpoint with `flow checkpoints reset`",
    ),
)


def fatal(names: set[str], *, building: bool) -> str:
    """Return why no restart can fix a failure, empty if one may.

    Arguments:
        names: the names of exception classes (without modules) and Spark error conditions in the failure.
        building: whether it was raised before the first batch.
    """
    for kind in FATAL:
        if (building or not kind.building) and any(re.fullmatch(kind.names, name) for name in names):
            return kind.reason
    return ""
