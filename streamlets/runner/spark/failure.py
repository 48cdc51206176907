"""From what Python or Spark raised to a `Failure`: the user's frames, the cause in a line, whether it is fatal."""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path

from streamlets.runner.spark.fatal import fatal
from streamlets.runner.supervision.facts import Failure

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
# Spark tells this of every query that changed its sources without names; the assertion has no condition of its own.
_SOURCES_CHANGED = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
# Spark says no more than that the state cannot be loaded; that a file of it is damaged stands in the last cause.
_STATE_NOT_LOADED = "[CANNOT_LOAD_STATE_STORE."
_UNREADABLE = re.compile(
    r"^Caused by: (?:\w+\.)*(?P<why>(?:(?:EOF|LZ4|Zip|Checksum)Exception|IOException: Stream is corrupted).*)",
    re.MULTILINE,
)

_HERE = Path(__file__).parents[3]
_LIBRARIES = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_FOREIGN = tuple(f"{Path(str(folder)).resolve()}/" for folder in (*_LIBRARIES, _HERE / "streamlets", _HERE / "cli"))


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
    places = [f"{_shown(match['file'])}:{match['line']} in {match['function']}" for match in own]
    cause = _after(told[frames[-1].end() :]) if frames else _first(told)
    names = {match["name"] for match in _CLASS.finditer(told)} | set(_CONDITION.findall(told))
    if _SOURCES_CHANGED.search(told):
        names.add("CHECKPOINT_SOURCES_CHANGED")
    if _STATE_NOT_LOADED in told and (damage := _UNREADABLE.search(text)):
        names.add("STATE_FILE_DAMAGED")
        cause = f"a file of its state is damaged: {damage['why']}"
    once = tuple(dict.fromkeys(places))  # Java repeats in each cause what Python said
    return Failure(_clean(cause), once, fatal(names, building=building))


def _after(text: str) -> str:
    """The line that ends a traceback, whose last frame's source lines stand indented before it."""
    lines = [line for line in text.splitlines() if line.strip() and not line[0].isspace()]
    if len(lines) > 1 and lines[1].startswith(": "):  # py4j: what Java raised stands behind what was called
        return lines[1][2:]
    return lines[0] if lines else text.strip()


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[1].startswith(": "):
        return lines[1][2:]
    return lines[0] if lines else "no reason was given"


def _clean(cause: str) -> str:
    """Without SQL states, and without the modules of the exception's class."""
    short = re.sub(r"^(?:[\w$]+\.)+([A-Z]\w*)", r"\1", _SQLSTATE.sub("", cause).strip())
    if task := _TASK.match(short):
        short = f"{task['cause']} (the task was tried {task['times']} times)"
    return re.sub(r"^\w+(?:Exception|Error): (?=\[[A-Z_.]+\])", "", short).rstrip(" ;")


def _shown(file: str) -> str:
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
