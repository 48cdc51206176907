"""The failures that no restart can mend: all of them, with the reason why. Whatever is not here is tried again."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fatal:
    """Failures of a kind.

    Arguments:
        names: a pattern that the whole name of an exception's class, or a whole Spark error condition, must match.
        reason: why the next start would fail alike.
        building: whether only failures before the first batch are meant.
    """

    names: str
    reason: str
    building: bool = False


FATAL = (
    Fatal("StreamletError", "the code asks for what cannot be"),
    Fatal("BrokenRowsError", "the same batch is replayed with the same rows; let the outlet send them to dead letters"),
    Fatal("TopicLostError", "the records that it had not read no longer exist"),
    Fatal("UnreadableRecordsError", "the records in the topic stay as they are"),
    Fatal("DamagedCheckpointError", "the files are as they are"),
    Fatal("CheckpointMisfitError", "the checkpoint is as it is"),
    Fatal("SessionError", "Spark refuses the settings"),
    Fatal("ExistingFilesError", "the sink keeps its files until the configuration says what becomes of them"),
    Fatal("LoadError", "the code does not load"),
    # The same code without input raises the same again. OSError and the like are not here: networks come back.
    Fatal(
        "(Type|Name|Attribute|Import|ModuleNotFound|Syntax|Indentation|Key|Index|NotImplemented|Assertion|Unbound)Error"
        "|UnboundLocalError|ValueError|ZeroDivisionError|RecursionError",
        "building the queries reads no records, so it fails the same way each time",
        building=True,
    ),
    Fatal("AnalysisException|ParseException|IllegalArgumentException", "Spark refuses the plan", building=True),
    Fatal("UNRESOLVED_.*|DATATYPE_MISMATCH.*|MISSING_GROUP_BY.*|.*_NOT_FOUND", "Spark refuses the plan", building=True),
    Fatal("STREAMING_OUTPUT_MODE.*|UNSUPPORTED_STREAMING.*|UNSUPPORTED_OPERATION.*", "Spark refuses the plan"),
    Fatal("DATA_SOURCE_NOT_FOUND", "the package that has the format is not installed"),
    Fatal("PARTITIONS_.*|COLUMN_NOT_DEFINED_IN_TABLE|STREAMING_REAL_TIME_MODE.*", "Spark refuses the plan"),
    Fatal(
        "STATE_FILE_DAMAGED|CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED|CANNOT_LOAD_STATE_STORE\\.(CANNOT_READ_.*"
        "|CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT|AUTO_SNAPSHOT_REPAIR_FAILED|UNEXPECTED_FILE_SIZE)",
        "the state's files are as they are; put the checkpoint back from a backup, or let the query begin anew with "
        "`flow checkpoints reset`",
    ),
    # What a checkpoint remembers and the query no longer is. Not among these: a log that could not be written
    # (STREAMING_CHECKPOINT_LOG_WRITE_FAILURE) and a store in the wrong state of its own (STATE_STORE_INVALID_STAMP,
    # STATE_STORE_INVALID_STATE_MACHINE_TRANSITION), which a task that is cut off leaves behind.
    Fatal(
        "STREAMING_QUERY_EVOLUTION_ERROR.*|STREAMING_STATEFUL_OPERATOR.*|STATE_STORE_.*_SCHEMA_.*"
        "|STATE_STORE_INVALID_(CONFIG|PROVIDER|VALUE|VARIABLE).*|STATE_STORE_(KEY|VALUE)_ROW_FORMAT.*"
        "|STATE_STORE_PROVIDER_.*|STATE_STORE_UNSUPPORTED.*|STREAM_STREAM_JOIN_INCOMPATIBLE.*|CHECKPOINT_SOURCES_CHANGED"
        "|STREAMING_CHECKPOINT_MISSING.*|INCOMPATIBLE_.*OFFSET.*",
        "the query does not fit its checkpoint; restore the code, give the query another name, or let it begin anew "
        "with `flow checkpoints reset`",
    ),
)


def fatal(names: set[str], *, building: bool) -> str:
    """Why a failure cannot be mended, empty when it may be.

    Arguments:
        names: of exception classes (without modules) and Spark error conditions that the failure tells.
        building: whether it came before the first batch.
    """
    for kind in FATAL:
        if (building or not kind.building) and any(re.fullmatch(kind.names, name) for name in names):
            return kind.reason
    return ""
