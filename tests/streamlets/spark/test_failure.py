"""Failures: the user's frames, the cause, and whether a restart can fix them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.channels.delta.log import lost as topic_lost
from streamlets.contract.errors import ContractError, Misfit
from streamlets.spark.failure import failure_of, failure_of_text, is_users

UDF = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/home/me/app/gauges.py", line 6, in parsed
    raise ValueError(f"cannot parse {x}")
ValueError: cannot parse 1
 SQLSTATE: 38000
=== Streaming Query ===
Identifier: app.a.out [id = 5c948c88, runId = 6b56f5a8]
"""

FOREACH = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/pyspark/sql/utils.py", line 163, in call
    self.func(DataFrame(jdf, wrapped_session_jdf), batch_id)
  File "/home/me/app/gauges.py", line 10, in each
    df.select("nope").collect()
    ^^^^^^^^^^^^^^^^^
  File "/venv/lib/python3.11/site-packages/pyspark/errors/exceptions/captured.py", line 262, in deco
    raise converted from None
pyspark.errors.exceptions.captured.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `nope` \
cannot be resolved. SQLSTATE: 42703;
'Project ['nope]
"""

STATE = """[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart streaming query with stateful operators.
Stateful operators in current batch: [...]. SQLSTATE: 42K03
=== Streaming Query ===
"""

JAVA = """An error occurred while calling o234.start.
: org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: nopro. \
SQLSTATE: 42K02
\tat org.apache.spark.sql.X.y(X.scala:1)
Caused by: java.lang.ClassNotFoundException: nopro.DefaultSource
"""


def test_python_worker() -> None:
    """A UDF's exception shows the user's line and the exception itself; it is tried again."""
    found = failure_of_text(UDF, building=False)
    assert found.frames == ("/home/me/app/gauges.py:6 in parsed",)
    assert found.cause == "ValueError: cannot parse 1"
    assert not found.fatal


def test_repeated_traceback() -> None:
    """A traceback that Java repeats as its cause shows each frame once."""
    found = failure_of_text(f"{UDF.partition('===')[0]}\n\tat java.X.y(X.scala:1)\nCaused by: {UDF}", building=False)
    assert found.frames == ("/home/me/app/gauges.py:6 in parsed",)
    assert found.cause == "ValueError: cannot parse 1"


def test_foreach_batch() -> None:
    """Of a long traceback only the user's frame is shown, and Spark's condition as the cause."""
    found = failure_of_text(FOREACH, building=False)
    assert found.frames == ("/home/me/app/gauges.py:10 in each",)
    assert found.cause == "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `nope` cannot be resolved."


@pytest.mark.parametrize(
    ("text", "building"),
    [
        (STATE, False),
        (JAVA, True),
        ("assertion failed: There are [2] sources in the checkpoint offsets and now there are [3] sources", False),
        ("streamlets.channels.base.TopicLostError: the directory of the topic `a` was deleted", False),
        ("[STREAMING_QUERY_EVOLUTION_ERROR.UNNAMED_STREAMING_SOURCES] no", True),
        ("[STATE_STORE_INVALID_CONFIG_AFTER_RESTART] no", False),
        ("[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] no", False),
        ("[STREAM_STREAM_JOIN_INCOMPATIBLE_STATE_STORE_CONFIGS] no", False),
    ],
)
def test_fatal(text: str, building: bool) -> None:
    """Failures of checkpoints, plans or deleted topics are not retried, and have a reason."""
    assert failure_of_text(text, building=building).fatal


@pytest.mark.parametrize(
    "text",
    [
        "java.io.IOException: No space left on device",
        "[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed\nOSError: host unreachable",
        "[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: Connection refused",
        "[STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.OFFSET_LOG] the disk is full",
        "Python worker exited\n\tSuppressed: a.b.StateStoreInvalidStamp: [STATE_STORE_INVALID_STAMP] Invalid stamp 1",
        "Suppressed: [STATE_STORE_INVALID_STATE_MACHINE_TRANSITION] from RELEASED to RELEASED",
        "",
    ],
)
def test_not_fatal(text: str) -> None:
    """Disks, networks and processes recover: these failures are retried."""
    assert not failure_of_text(text, building=False).fatal


def test_the_same_error_is_fatal_only_while_building() -> None:
    """A TypeError in code that reads no records is raised each time; in a batch it depends on the records."""
    assert failure_of(TypeError("x"), building=True).fatal
    assert not failure_of(TypeError("x"), building=False).fatal
    assert not failure_of(OSError("host unreachable"), building=True).fatal


def test_java_exception_without_python() -> None:
    """The cause is Java's exception, not the call."""
    found = failure_of_text(JAVA, building=True)
    assert found.cause.startswith("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: nopro.")


def test_the_cause_of_a_failed_task_is_that_of_its_last_attempt() -> None:
    """Without stage, attempt and host, but with the number of attempts."""
    text = (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 106.0 failed 4 times, most "
        "recent failure: Lost task 0.3 in stage 106.0 (TID 183) (localhost executor driver): org.apache.spark."
        "SparkException: Python worker exited unexpectedly (crashed).\n\tat org.apache.spark.api.python.X"
    )
    assert failure_of_text(text, building=False).cause == (
        "SparkException: Python worker exited unexpectedly (crashed). (the task was tried 4 times)"
    )


UNLOADED = """org.apache.spark.sql.streaming.StreamingQueryException: [CANNOT_LOAD_STATE_STORE.{kind}] An error \
occurred during loading state. SQLSTATE: 58030
=== Streaming Query ===
Identifier: [id = 87ccc286, runId = 58b26623]
Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.{kind}] An error occurred during loading state.
\t... 1 more
Caused by: java.io.{cause}
\tat java.base/java.io.DataInputStream.readFully(DataInputStream.java:201)
"""


@pytest.mark.parametrize(
    ("kind", "cause", "fatal"),
    [
        ("UNCATEGORIZED", "EOFException: Stream ended prematurely", True),
        ("UNCATEGORIZED", "EOFException", True),
        ("UNCATEGORIZED", "IOException: Stream is corrupted", True),
        ("CANNOT_READ_STREAMING_STATE_FILE", "FileNotFoundException: File 5.changelog does not exist", True),
        ("UNCATEGORIZED", "IOException: No space left on device", False),
    ],
)
def test_state_that_cannot_be_loaded(kind: str, cause: str, fatal: bool) -> None:
    """Damaged or deleted files are fatal, with help; a full disk is not."""
    failure = failure_of_text(UNLOADED.format(kind=kind, cause=cause), building=False)
    assert bool(failure.fatal) is fatal
    assert ("`flow checkpoints reset`" in failure.fatal) is fatal
    damaged = fatal and kind == "UNCATEGORIZED"
    assert (failure.cause == f"a file of its state is damaged: {cause}") is damaged


def test_users_files() -> None:
    """Libraries, Python's own files, archives and this project are not the user's."""
    import json

    import streamlets

    assert is_users(__file__)
    assert not is_users(str(json.__file__))
    assert not is_users(str(streamlets.__file__))
    assert not is_users("/x/pyspark.zip/pyspark/worker.py")
    assert not is_users("<frozen importlib>")


def test_a_cause_of_several_lines_is_whole() -> None:
    """The lines below the first one are kept; those that Java and Spark add are not."""
    error = ContractError("unnamed.Row", (Misfit("", "there is no column `x`"), Misfit("y", "is text")))
    whole = f"ContractError: {error}"
    assert whole.splitlines()[1:] == ["  there is no column `x`", "  `y`: is text"]
    assert failure_of(error, building=False).cause == whole
    java = (
        f"{UDF.partition('ValueError:')[0]}{whole}\n\n\tat org.apache.X.y(X.scala:1)\nCaused by: java.lang.Error: z\n"
    )
    assert failure_of_text(java, building=False).cause == whole
    assert failure_of_text("java.io.IOException: a\nb\n\tat c.d(e)\n", building=False).cause == "IOException: a\nb"


def test_a_cause_is_bounded() -> None:
    """It says how much is missing and where that is."""
    cause = failure_of(ValueError("\n".join(f"row {number}" for number in range(1000))), building=False).cause
    assert cause.splitlines()[-2:] == ["row 19", "... 980 more lines in logs/run.log"]
    (line,) = failure_of(ValueError("x" * 100_000), building=False).cause.splitlines()
    assert line.endswith("x ... 98012 more characters in logs/run.log")


def test_of_a_deleted_topic_each_remedy_is_named_once(tmp_path: Path) -> None:
    """The mildest first: restore it, reset the readers, delete everything."""
    failure = failure_of(topic_lost(tmp_path / "clicks"), building=False)
    text = failure.cause_with(failure.fatal)
    places = [text.index(remedy) for remedy in ("restore the directory", "flow checkpoints reset", "--fresh")]
    assert places == sorted(places)
    assert [text.count(remedy) for remedy in ("restore", "checkpoints reset", "--fresh")] == [1, 1, 1]


NOT_CONNECTED = """Python worker failed to connect back.
=== Streaming Query ===
Identifier: [id = 1df9f1e3-96c0-4ae7-a0b7-f3b1e3a3b7d1, runId = 1df9f1e3-96c0-4ae7-a0b7-f3b1e3a3b7d1]
"""


@pytest.mark.parametrize(
    "text",
    [
        NOT_CONNECTED,
        "org.apache.spark.SparkException: Python worker failed to connect back.\n\tat org.apache.spark.X.y(X.scala:1)",
        (
            "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task 0.3 "
            "in stage 3.0 (TID 7) (host executor driver): org.apache.spark.SparkException: Python worker failed to "
            "connect back.\n\tat org.apache.spark.X.y(X.scala:1)"
        ),
    ],
    ids=["query", "start", "task"],
)
@pytest.mark.parametrize("building", [False, True])
def test_an_overloaded_machine_is_not_a_failure_of_the_streamlet(text: str, building: bool) -> None:
    """A process that did not connect in time is named with the remedy, and never counted as the author's failure."""
    failure = failure_of_text(text, building=building)
    assert (failure.disturbance, failure.fatal) == (True, "")
    assert failure.cause.startswith("the machine is overloaded: a Python process of Spark did not start")


@pytest.mark.parametrize("text", [UDF, FOREACH, STATE, JAVA, "ValueError: x Python worker failed to connect"])
def test_other_failures_are_the_streamlets(text: str) -> None:
    """Failures of code, data and checkpoints count."""
    assert not failure_of_text(text, building=False).disturbance
