"""From what building raised to a finding at the author's line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.spelling import did_you_mean, listing
from streamlets.api.declared import Declared
from streamlets.api.errors import StreamletError
from streamlets.plans import pinpoint
from streamlets.plans.advice import advice, union_by_name
from streamlets.plans.places import Places, span_of
from streamlets.project.frames import said

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

_MISSING = re.compile(
    r"UNRESOLVED_COLUMN.*|UNRESOLVED_FIELD.*|FIELD_NOT_FOUND|UNRESOLVED_USING_COLUMN_FOR_JOIN|UNRESOLVED_MAP_KEY.*"
)
_SUGGESTIONS = ("proposal", "suggestion", "fieldNames", "fields")
_STREAM_ON_THE_SPOT = "Queries with streaming sources must be executed with"
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+[.;]?.*", re.DOTALL)
_CALL_SITE = re.compile(r"(.+):(\d+)")


def finding_of(error: BaseException, places: Places) -> Diagnostic:
    """What is to be said of an exception that came out of a streamlet's logic."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    frames = places.of(error)
    if isinstance(error, StreamletError):
        return misuse(error, places, frames)
    if isinstance(error, PySparkException):
        return _refused_by_spark(error, places, frames)
    if isinstance(error, Py4JError):
        return _plan_refused(_java_says(error), frames[-1] if frames else None, frames)
    place = frames[-1] if frames else None
    return finding("logic-raises", f"its logic raises {said(error)}", span_of(place), also=_callers(frames, place))


def misuse(error: StreamletError, places: Places, frames: Sequence[Declared] = ()) -> Diagnostic:
    """What is to be said of misuse of the framework; the message's part after the colon is its help."""
    place = places.own(error.place) or (frames[-1] if frames else None)
    headline, help = _parted(error.message)
    also = [Label(error.also[0].span, error.also[1])] if error.also and places.own(error.also[0]) else []
    return finding(
        error.code, headline, span_of(place), also=also or _callers(frames, place), help=(help,) if help else ()
    )


def message_of(error: Exception) -> str:
    """What Spark says, without its condition, its SQL state and the plan."""
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    if set(parameters) == {"msg"}:
        return str(parameters["msg"])
    lines = [line.strip() for line in str(error).strip().splitlines()]
    told = next((line for line in lines if _CONDITION.match(line)), lines[0] if lines else type(error).__name__)
    return _STATE.sub("", _CONDITION.sub("", told, count=1)).strip().rstrip(".;")


def _refused_by_spark(error: PySparkException, places: Places, frames: tuple[Declared, ...]) -> Diagnostic:
    condition, given = error.getCondition() or "", error.getMessageParameters() or {}
    call = frames[-1] if frames else None
    column = _column(condition, given)
    if column:
        place = _place_of(column, error, places, call)
        known = _names(next((given[key] for key in _SUGGESTIONS if given.get(key)), "")) or _columns_of(error)
        near = did_you_mean(column, known) or ((f"there are {listing(known)}",) if known else ())
        side = f" on the {given['side']} side of the join" if "side" in given else ""
        headline = f"there is no column `{column}`{side}"
        help = (*near, *union_by_name(error))
        return finding("unknown-column", headline, span_of(place), also=_callers(frames, place), help=help)
    if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE":
        name = given["eventName"].strip("`")
        place = _place_of(name, error, places, call)
        return finding(
            "watermark-column",
            f"a watermark needs a column of timestamps, and `{name}` is {given['eventType'].strip(chr(34)).lower()}",
            span_of(place),
            also=_callers(frames, place),
            help=(f'make it one: .withColumn("{name}", F.to_timestamp("{name}"))',),
        )
    if "UNNAMED_STREAMING_SOURCES" in condition:
        return finding(
            "source-unnamed",
            "a source has no name, and Spark keeps the positions of sources by name",
            span_of(call),
            also=_callers(frames, call),
            help=('open it with `self.source("name", format=..., options=...)`, or call `.name(...)` before `.load`',),
        )
    if condition == "INVALID_STREAMING_SOURCE_NAME":
        headline = f"`{given.get('source_name', '')}` cannot name a source"
        rule = ("take letters, digits and `_`",)
        return finding("source-name", headline, span_of(call), also=_callers(frames, call), help=rule)
    if condition == "STREAMING_OUTPUT_MODE.INVALID":
        place = (call and pinpoint.mention(given.get("outputMode", ""), call)) or call
        headline = f"there is no output mode `{given.get('outputMode', '')}`"
        help = did_you_mean(given.get("outputMode", ""), ("append", "update", "complete"))
        help = help or ("it is `append`, `update` or `complete`",)
        return finding("output-mode", headline, span_of(place), also=_callers(frames, place), help=help)
    advised = advice(error)
    if advised is not None:
        place = _place_of(advised.name, error, places, call)
        return finding(
            "plan-refused", advised.headline, span_of(place), also=_callers(frames, place),
            causes=advised.causes, help=advised.help,
        )  # fmt: skip
    message = message_of(error)
    if message.startswith(_STREAM_ON_THE_SPOT):
        return finding(
            "action-in-logic", "an action is asked of a stream while the logic is built, when it has no records",
            span_of(call), also=_callers(frames, call),
            help=("take the records of each batch with `df.writeStream.foreachBatch(...)`",),
        )  # fmt: skip
    if message.startswith("`writeStream` can be called only on"):
        help = ("start from `read_stream` or `source`, not from `session.read`",)
        headline = "a query is to write a DataFrame that is no stream"
        return finding("not-a-stream", headline, span_of(call), also=_callers(frames, call), help=help)
    return _plan_refused(message, _place_of("", error, places, call), frames, _sql(error))


def _sql(error: PySparkException) -> str:
    """The text of SQL that Spark could not parse."""
    _, _, text = str(error).partition("== SQL ==\n")
    return " ".join(line.strip() for line in text.splitlines() if line.strip(" -^\t"))


def _plan_refused(message: str, place: Declared | None, frames: Sequence[Declared], sql: str = "") -> Diagnostic:
    first, _, rest = message.partition(". ")
    rest = rest or (f"it is asked to read `{sql}`" if sql else "")
    return finding(
        "plan-refused", f"Spark refuses this: {first}", span_of(place), also=_callers(frames, place),
        causes=(rest,) if rest else (),
    )  # fmt: skip


def _column(condition: str, given: dict[str, str]) -> str:
    """The name that Spark cannot resolve; "" when it is something else that it refuses."""
    if condition == "ATTRIBUTE_NOT_SUPPORTED":
        return given.get("attr_name", "")
    if not _MISSING.fullmatch(condition):
        return ""
    named = given.get("objectName") or given.get("fieldName") or given.get("colName") or ""
    return ".".join(part.strip("`") for part in re.findall(r"`[^`]*`|[^.`]+", named))


def _columns_of(error: BaseException) -> list[str]:
    """The columns of the frame that was asked for an attribute."""
    from pyspark.sql import DataFrame

    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    asked = trace.tb_frame.f_locals.get("self") if trace is not None else None
    return list(asked.columns) if isinstance(asked, DataFrame) else []


def _names(listed: str) -> list[str]:
    return [name.strip().strip("`[]").replace("`.`", ".") for name in listed.split(",") if name.strip()]


def _place_of(name: str, error: PySparkException, places: Places, call: Declared | None) -> Declared | None:
    """Where a name that Spark stumbled over is written: Spark's own note of the line first, else the failing call."""
    for context in error.getQueryContext() or ():
        site = _CALL_SITE.fullmatch(_asked(context, "callSite"))
        if site and places.owns(site[1]):
            return pinpoint.on_line(name, site[1], int(site[2]))
        name = name or _asked(context, "fragment")
    return ((name and call and pinpoint.mention(name, call)) or call) if call else None


def _asked(context: Any, question: str) -> str:
    """What a query context tells; the kinds of contexts know different things."""
    try:
        return str(getattr(context, question)())
    except Exception:  # noqa: BLE001 - it says "not supported" in several ways
        return ""


def _callers(frames: Sequence[Declared], place: Declared | None) -> list[Label]:
    """The author's calls on the way to the place, and the call that failed when the place is in none of its lines."""
    outer = frames[:-1] if frames else ()
    labels = [Label(frame.span, "called from here") for frame in outer[-3:]]
    last = frames[-1] if frames else None
    if last is not None and place is not None and not _holds(pinpoint.statement(last), place):
        labels.insert(0, Label(last.span, "used here"))
    return labels


def _holds(call: Declared, place: Declared) -> bool:
    return call.file == place.file and call.line <= place.line <= call.end_line


def _java_says(error: Any) -> str:
    inner = getattr(error, "java_exception", None)
    told = str(inner.getMessage() if inner is not None else error).strip().partition("\n")[0]
    return _STATE.sub("", _CONDITION.sub("", told, count=1)).strip().rstrip(".;")


def _parted(message: str) -> tuple[str, str]:
    """The sentence and its remedy, which stands after a colon that is in no quotes."""
    quoted = False
    for index, character in enumerate(message):
        quoted ^= character == "`"
        if not quoted and message.startswith(": ", index):
            return message[:index], message[index + 2 :]
    return message, ""
