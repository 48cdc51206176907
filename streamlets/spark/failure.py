"""From what Python or Spark raised to a `Failure`: the user's frames, the cause, whether it is fatal."""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path

from streamlets.spark.fatal import fatal

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z][A-Z0-9_]+)*)\]")
_CLASS = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)*(?P<name>[A-Za-z_$]\w*)(?:: |$)", re.MULTILINE)
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+;?")
# What Spark puts around the failure of a task; what counts is why the last attempt failed.
_TASK = re.compile(
    r"^(?:SparkException: )?Job aborted due to stage failure: Task \S+ in stage \S+ failed (?P<times>\d+) times, most "
    r"recent failure: Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): (?:[a-z_]\w*\.)*(?P<cause>.*)"
)
_QUERY_DUMP = "\n=== Streaming Query ==="
# What follows a message: frames, further causes, the plan below an analysis error.
_AFTER_MESSAGE = re.compile(
    r"\tat |\s*File \"|\s*(?:Caused by|Suppressed): |\s+\.\.\. \d+ more$|(?:Driver|JVM) stacktrace:"
)
_PLAN_FOLLOWS = re.compile(r"SQLSTATE: \w+;$")
_MOST_LINES = 20
_MOST_CHARACTERS = 2_000
_REST = "in logs/run.log"
# Spark tells this of every query that changed its sources without names; the assertion has no condition of its own.
_SOURCES_CHANGED = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
# Spark says no more than that the state cannot be loaded; that a file of it is damaged stands in the last cause.
_STATE_NOT_LOADED = "[CANNOT_LOAD_STATE_STORE."
_UNREADABLE = re.compile(
    r"^Caused by: (?:\w+\.)*(?P<why>(?:(?:EOF|LZ4|Zip|Checksum)Exception|IOException: Stream is corrupted).*)",
    re.MULTILINE,
)

_HERE = Path(__file__).parents[2]
_LIBRARIES = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_FOREIGN = tuple(f"{Path(str(folder)).resolve()}/" for folder in (*_LIBRARIES, _HERE / "streamlets", _HERE / "cli"))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a unit ended.

    Arguments:
        cause: what was raised, as it was worded; it may have several lines.
        frames: places in the user's own code, outermost first.
        fatal: why no restart can mend it; empty when one may.
    """

    cause: str
    frames: tuple[str, ...] = ()
    fatal: str = ""

    def cause_with(self, note: str) -> str:
        """The cause with a note, which gets a line of its own where the cause has several."""
        gap = "\n" if "\n" in self.cause else " "
        return f"{self.cause}{gap}({note})"


def is_users(file: str) -> bool:
    """Whether a file of a traceback is the user's: no library's, not Python's own, none of this project's."""
    if file.startswith("<") or ".zip/" in file or "/site-packages/" in file:
        return False
    return not str(Path(file).resolve()).startswith(_FOREIGN)


def failure_of(error: BaseException, *, building: bool, users: Callable[[str], bool] = is_users) -> Failure:
    """A failure that was raised in this process."""
    names = {kind.__name__ for kind in type(error).__mro__}
    told = failure_of_text(text_of(error), building=building, users=users)
    return Failure(told.cause, told.frames, told.fatal or fatal(names, building=building))


def text_of(error: BaseException) -> str:
    """Everything Python knows of an exception, for the log."""
    return "".join(traceback.format_exception(error))


def failure_of_text(text: str, *, building: bool, users: Callable[[str], bool] = is_users) -> Failure:
    """A failure as Spark or Python tell it in text: a traceback, an error condition, a Java exception, or all of these.

    Arguments:
        building: whether it came before the first batch.
        users: tells of a file whether it is the user's.
    """
    told = text.partition(_QUERY_DUMP)[0]
    frames = list(_FRAME.finditer(told))
    own = [match for match in frames if users(match["file"])]
    places = [place_of(match["file"], int(match["line"]), match["function"]) for match in own]
    cause = _message(told[frames[-1].end() :] if frames else told.lstrip()) or "no reason was given"
    names = {match["name"] for match in _CLASS.finditer(told)} | set(_CONDITION.findall(told))
    if _SOURCES_CHANGED.search(told):
        names.add("CHECKPOINT_SOURCES_CHANGED")
    if _STATE_NOT_LOADED in told and (damage := _UNREADABLE.search(text)):
        names.add("STATE_FILE_DAMAGED")
        cause = f"a file of its state is damaged: {damage['why']}"
    once = tuple(dict.fromkeys(places))  # Java repeats in each cause what Python said
    return Failure(_bounded(_clean(cause)), once, fatal(names, building=building))


def _message(text: str) -> str:
    """The message that a text begins with; source lines of a traceback's last frame may precede it, indented."""
    lines = list(dropwhile(lambda line: not line or line[0].isspace(), text.splitlines()))
    if len(lines) > 1 and lines[1].startswith(": "):  # py4j: what Java raised stands behind what was called
        lines = [lines[1][2:], *lines[2:]]
    message = []
    for line in takewhile(lambda line: not _AFTER_MESSAGE.match(line), lines):
        message.append(line.rstrip())
        if _PLAN_FOLLOWS.search(line):
            break
    return "\n".join(filter(None, message)) or text.strip()


def _bounded(cause: str) -> str:
    """The cause without what no screen takes; the log has it in full."""
    lines = [
        line if (more := len(line) - _MOST_CHARACTERS) <= 0 else f"{line[:-more]} ... {more} more characters {_REST}"
        for line in cause.splitlines()
    ]
    more = len(lines) - _MOST_LINES
    return "\n".join(lines if more <= 1 else [*lines[:_MOST_LINES], f"... {more} more lines {_REST}"])


def _clean(cause: str) -> str:
    """Without SQL states, and without the modules of the exception's class."""
    first, newline, more = _SQLSTATE.sub("", cause).strip().partition("\n")
    short = re.sub(r"^(?:[\w$]+\.)+([A-Z]\w*)", r"\1", first)
    if task := _TASK.match(short):
        short = f"{task['cause']} (the task was tried {task['times']} times)"
    return (re.sub(r"^\w+(?:Exception|Error): (?=\[[A-Z_.]+\])", "", short) + newline + more).rstrip(" ;")


def place_of(file: str, line: int, function: str) -> str:
    """A frame as people are shown it: `shop/prices.py:31 in in_euro`."""
    with suppress(ValueError):
        file = str(Path(file).relative_to(Path.cwd()))
    return f"{file}:{line} in {function}"
