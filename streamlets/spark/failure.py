"""`Failure`: an exception of Python or Spark as the user's frames, the cause, and whether it is fatal."""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Literal

from blueprint.wording import counted
from streamlets.spark.explanations import explained, is_disturbance
from streamlets.spark.fatal import fatal

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z][A-Z0-9_]+)*)\]")
_CLASS = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)*(?P<name>[A-Za-z_$]\w*)(?:: |$)", re.MULTILINE)
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+;?")
# Spark's message around the failure of a task; the cause is the last attempt's.
_TASK = re.compile(
    r"^(?:SparkException: )?Job aborted due to stage failure: Task \S+ in stage \S+ failed (?P<times>\d+) times, most "
    r"recent failure: Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): (?:[a-z_]\w*\.)*(?P<cause>.*)"
)
_QUERY_DUMP = "\n=== Streaming Query ==="
# The text after a message: frames, further causes, the plan below an analysis error.
_AFTER_MESSAGE = re.compile(
    r"\tat |\s*File \"|\s*(?:Caused by|Suppressed): |\s+\.\.\. \d+ more$|(?:Driver|JVM) stacktrace:"
)
_PLAN_FOLLOWS = re.compile(r"SQLSTATE: \w+;$")
_MOST_LINES = 20
_MOST_CHARACTERS = 2_000
_REST = "in logs/run.log"
# Spark's assertion for every query that changed its sources without names; it has no error condition.
_SOURCES_CHANGED = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
# Spark's error for a second watermark; it has no error condition, and is raised when the query starts.
_WATERMARK_REDEFINED = "Redefining watermark is disallowed"
# Spark's condition only means that the state cannot be loaded; the last cause shows whether a file is damaged.
_STATE_NOT_LOADED = "[CANNOT_LOAD_STATE_STORE."
_UNREADABLE = re.compile(
    r"^Caused by: (?:\w+\.)*(?P<why>(?:(?:EOF|LZ4|Zip|Checksum)Exception|IOException: Stream is corrupted).*)",
    re.MULTILINE,
)

_HERE = Path(__file__).parents[2]
_LIBRARIES = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_FOREIGN = tuple(
    f"{Path(str(directory)).resolve()}/" for directory in (*_LIBRARIES, _HERE / "streamlets", _HERE / "cli")
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a unit ended.

    Arguments:
        cause: the message of the exception, in one or several lines.
        frames: the frames in the user's code, outermost first.
        fatal: why no restart can fix it; empty if one may.
        disturbance: whether the machine is its cause, and neither the code nor the data.
        hook: `on_start` or `on_stop` if this hook of the logic failed; empty otherwise.
        lost: whether the process that ran it was killed or has exited unexpectedly.
    """

    cause: str
    frames: tuple[str, ...] = ()
    fatal: str = ""
    disturbance: bool = False
    hook: Literal["", "on_start", "on_stop"] = ""
    lost: bool = False

    @property
    def of_the_end(self) -> str:
        """The cause, for a unit that was to end: its hook failed, or else its last batch, which is repeated."""
        return self.cause if self.hook else f"its last batch failed: {self.cause}"

    def cause_with(self, note: str) -> str:
        """Return the cause with a note, on a line of its own if the cause has several."""
        gap = "\n" if "\n" in self.cause else " "
        return f"{self.cause}{gap}({note})"


def is_users(file: str) -> bool:
    """Return whether a file of a traceback is the user's, and not of a library, of Python or of this project."""
    if file.startswith("<") or ".zip/" in file or "/site-packages/" in file:
        return False
    return not str(Path(file).resolve()).startswith(_FOREIGN)


def failure_of(error: BaseException, *, building: bool, users: Callable[[str], bool] = is_users) -> Failure:
    """Return the failure of an exception that was raised in this process; see `failure_of_text` for the arguments."""
    names = {kind.__name__ for kind in type(error).__mro__}
    failure = failure_of_text(text_of(error), building=building, users=users)
    return replace(failure, fatal=failure.fatal or fatal(names, building=building))


def text_of(error: BaseException) -> str:
    """Return an exception with its traceback as text, for the log."""
    return "".join(traceback.format_exception(error))


def failure_of_text(text: str, *, building: bool, users: Callable[[str], bool] = is_users) -> Failure:
    """Return the failure in output of Spark or Python: a traceback, error condition, Java exception, or all three.

    Arguments:
        building: whether it was raised before the first batch.
        users: returns whether a file is the user's.
    """
    report = text.partition(_QUERY_DUMP)[0]
    frames = list(_FRAME.finditer(report))
    own = [match for match in frames if users(match["file"])]
    places = [place_of(match["file"], int(match["line"]), match["function"]) for match in own]
    cause = _message(report[frames[-1].end() :] if frames else report.lstrip()) or "no error message"
    names = {match["name"] for match in _CLASS.finditer(report)} | set(_CONDITION.findall(report))
    if _SOURCES_CHANGED.search(report):
        names.add("CHECKPOINT_SOURCES_CHANGED")
    if _WATERMARK_REDEFINED in report:
        names.add("WATERMARK_REDEFINED")
    if _STATE_NOT_LOADED in report and (damage := _UNREADABLE.search(text)):
        names.add("STATE_FILE_DAMAGED")
        cause = f"a file of its state is damaged: {damage['why']}"
    distinct = tuple(dict.fromkeys(places))  # Java repeats Python's traceback in each cause
    cause = _clean(cause)
    reason = fatal(names, building=building)
    return Failure(_bounded(explained(cause)), distinct, reason, disturbance=not reason and is_disturbance(cause))


def _message(text: str) -> str:
    """Return the message at the start of a text; indented source lines of the last frame may precede it."""
    lines = list(dropwhile(lambda line: not line or line[0].isspace(), text.splitlines()))
    if len(lines) > 1 and lines[1].startswith(": "):  # py4j: the call, then Java's exception
        lines = [lines[1][2:], *lines[2:]]
    message = []
    for line in takewhile(lambda line: not _AFTER_MESSAGE.match(line), lines):
        message.append(line.rstrip())
        if _PLAN_FOLLOWS.search(line):
            break
    return "\n".join(filter(None, message)) or text.strip()


def _bounded(cause: str) -> str:
    """Return the cause, limited in length for a terminal; the log has the full text."""
    lines = [
        line if (more := len(line) - _MOST_CHARACTERS) <= 0 else f"{line[:-more]} ... {more} more characters {_REST}"
        for line in cause.splitlines()
    ]
    more = len(lines) - _MOST_LINES
    return "\n".join(lines if more <= 1 else [*lines[:_MOST_LINES], f"... {more} more lines {_REST}"])


def _clean(cause: str) -> str:
    """Return the cause without SQL states and without the modules of the exception's class."""
    first, newline, more = _SQLSTATE.sub("", cause).strip().partition("\n")
    short = re.sub(r"^(?:[\w$]+\.)+([A-Z]\w*)", r"\1", first)
    if task := _TASK.match(short):
        times = counted(int(task["times"]), "time")
        short = f"{task['cause']} (the task was tried {times})"
    return (re.sub(r"^\w+(?:Exception|Error): (?=\[[A-Z_.]+\])", "", short) + newline + more).rstrip(" ;")


def place_of(file: str, line: int, function: str) -> str:
    """Return a frame for display: `shop/prices.py:31 in in_euro`."""
    with suppress(ValueError):
        file = str(Path(file).relative_to(Path.cwd()))
    return f"{file}:{line} in {function}"
