"""Findings for errors that building a logic raises, located in the author's code."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.spelling import did_you_mean, listing
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import SourceLocation
from streamlets.plans import syntax
from streamlets.plans.advice import advice, union_by_name
from streamlets.plans.places import Places, span_of
from streamlets.project.loading import StreamletNotLoadedError, describe_exception
from streamlets.time_limit import TimeLimitError

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

_UNKNOWN_NAME = re.compile(
    r"UNRESOLVED_COLUMN.*|UNRESOLVED_FIELD.*|FIELD_NOT_FOUND|UNRESOLVED_USING_COLUMN_FOR_JOIN|UNRESOLVED_MAP_KEY.*"
)
_SUGGESTIONS = ("proposal", "suggestion", "fieldNames", "fields")
_ACTION_ON_STREAM = "Queries with streaming sources must be executed with"
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+[.;]?.*", re.DOTALL)
_CALL_SITE = re.compile(r"(.+):(\d+)")


def build_error_finding(error: BaseException, places: Places) -> Diagnostic:
    """Return the finding for an exception that a streamlet's logic raised."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    frames = places.of(error)
    if isinstance(error, StreamletError) and isinstance(error.__cause__, PySparkException):
        # A statement of a job: the error has its place, and its cause is what Spark reports.
        found = _spark_finding(error.__cause__, places, ())
        return replace(found, primary=Label(error.place.span) if error.place is not None else None)
    if isinstance(error, StreamletError):
        return misuse_finding(error, places, frames)
    if isinstance(error, PySparkException):
        return _spark_finding(error, places, frames)
    place = frames[-1] if frames else None
    if isinstance(error, Py4JError):
        return _plan_refused_finding(_java_message(error), place, frames)
    if isinstance(error, TimeLimitError):
        return raised_finding(error, "the logic took too long to build, and was abandoned", frames)
    if isinstance(error, StreamletNotLoadedError):
        return raised_finding(error, f"the class cannot be loaded again: {error}", frames)
    return raised_finding(error, f"the logic raised {describe_exception(error)}", frames)


def raised_finding(error: BaseException, headline: str, frames: Sequence[SourceLocation]) -> Diagnostic:
    """Return the finding for an error, with the last frame of the project, or else the line that raised it."""
    place = frames[-1] if frames else None
    trace = None if frames else traceback.extract_tb(error.__traceback__)
    causes = [f"raised in {trace[-1].filename}, line {trace[-1].lineno}"] if trace else []
    return finding("logic-raises", headline, span_of(place), also=_callers(frames, place), causes=causes)


def misuse_finding(error: StreamletError, places: Places, frames: Sequence[SourceLocation] = ()) -> Diagnostic:
    """Return the finding for misuse of the API; the part of the message after the colon becomes the help."""
    place = places.own(error.place) or (frames[-1] if frames else None)
    headline, help = _split_message(error.message)
    also = [Label(error.also[0].span, error.also[1])] if error.also and places.own(error.also[0]) else []
    return finding(
        error.code, headline, span_of(place), also=also or _callers(frames, place), help=(help,) if help else ()
    )


def spark_message(error: Exception) -> str:
    """Return Spark's message without the error condition, the SQL state and the plan."""
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    if set(parameters) == {"msg"}:
        return str(parameters["msg"])
    lines = [line.strip() for line in str(error).strip().splitlines()]
    message = next((line for line in lines if _CONDITION.match(line)), lines[0] if lines else type(error).__name__)
    return _without_codes(message)


def _without_codes(message: str) -> str:
    return _STATE.sub("", _CONDITION.sub("", message, count=1)).strip().rstrip(".;")


def _spark_finding(error: PySparkException, places: Places, frames: tuple[SourceLocation, ...]) -> Diagnostic:
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    call = frames[-1] if frames else None
    column = _column(condition, parameters)
    if column:
        place = _place_of(column, error, places, call)
        known = _names(next((parameters[key] for key in _SUGGESTIONS if parameters.get(key)), "")) or _columns_of(error)
        near = did_you_mean(column, known) or ((f"the columns are {listing(known)}",) if known else ())
        side = f" on the {parameters['side']} side of the join" if "side" in parameters else ""
        headline = f"there is no column `{column}`{side}"
        help = (*near, *union_by_name(error))
        return finding("unknown-column", headline, span_of(place), also=_callers(frames, place), help=help)
    if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE":
        name, type = parameters["eventName"].strip("`"), parameters["eventType"].strip('"').lower()
        place = _place_of(name, error, places, call)
        return finding(
            "watermark-column",
            f"a watermark requires a timestamp column, but `{name}` is {type}",
            span_of(place),
            also=_callers(frames, place),
            help=(f'convert it: .withColumn("{name}", F.to_timestamp("{name}"))',),
        )
    if "UNNAMED_STREAMING_SOURCES" in condition:
        return finding(
            "source-unnamed",
            "a source has no name, but Spark stores the positions of sources by name",
            span_of(call),
            also=_callers(frames, call),
            help=('open it with `self.source("name", format=..., options=...)`, or call `.name(...)` before `.load`',),
        )
    if condition == "INVALID_STREAMING_SOURCE_NAME":
        headline = f"`{parameters.get('source_name', '')}` is not a valid source name"
        rule = ("use letters, digits and `_`",)
        return finding("source-name", headline, span_of(call), also=_callers(frames, call), help=rule)
    if condition == "STREAMING_OUTPUT_MODE.INVALID":
        place = (call and syntax.mention(parameters.get("outputMode", ""), call)) or call
        headline = f"unknown output mode `{parameters.get('outputMode', '')}`"
        help = did_you_mean(parameters.get("outputMode", ""), ("append", "update", "complete"))
        help = help or ("use `append`, `update` or `complete`",)
        return finding("output-mode", headline, span_of(place), also=_callers(frames, place), help=help)
    advised = advice(error)
    if advised is not None:
        place = _place_of(advised.name, error, places, call)
        return finding(
            "plan-refused", advised.headline, span_of(place), also=_callers(frames, place),
            causes=advised.causes, help=advised.help,
        )  # fmt: skip
    message = spark_message(error)
    if message.startswith(_ACTION_ON_STREAM):
        return finding(
            "action-in-logic", "an action is called on a stream, which has no records while the logic is built",
            span_of(call), also=_callers(frames, call),
            help=("process the records of each batch with `df.writeStream.foreachBatch(...)`",),
        )  # fmt: skip
    if message.startswith("`writeStream` can be called only on"):
        help = ("start from `read_stream` or `source`, not from `session.read`",)
        headline = "`writeStream` requires a streaming DataFrame, found a batch DataFrame"
        return finding("not-a-stream", headline, span_of(call), also=_callers(frames, call), help=help)
    return _plan_refused_finding(message, _place_of("", error, places, call), frames, _sql(error))


def _sql(error: PySparkException) -> str:
    """Return the SQL text that Spark could not parse."""
    _, _, text = str(error).partition("== SQL ==\n")
    return " ".join(line.strip() for line in text.splitlines() if line.strip(" -^\t"))


def _plan_refused_finding(
    message: str, place: SourceLocation | None, frames: Sequence[SourceLocation], sql: str = ""
) -> Diagnostic:
    first, _, rest = message.partition(". ")
    rest = rest or (f"the SQL text is `{sql}`" if sql else "")
    return finding(
        "plan-refused", f"Spark rejects this: {first}", span_of(place), also=_callers(frames, place),
        causes=(rest,) if rest else (),
    )  # fmt: skip


def _column(condition: str, parameters: dict[str, str]) -> str:
    """Return the name that Spark cannot resolve; "" for other errors."""
    if condition == "ATTRIBUTE_NOT_SUPPORTED":
        return parameters.get("attr_name", "")
    if not _UNKNOWN_NAME.fullmatch(condition):
        return ""
    name = parameters.get("objectName") or parameters.get("fieldName") or parameters.get("colName") or ""
    return ".".join(part.strip("`") for part in re.findall(r"`[^`]*`|[^.`]+", name))


def _columns_of(error: BaseException) -> list[str]:
    """Return the columns of the DataFrame whose method raised an error."""
    from pyspark.sql import DataFrame

    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    receiver = trace.tb_frame.f_locals.get("self") if trace is not None else None
    return list(receiver.columns) if isinstance(receiver, DataFrame) else []


def _names(text: str) -> list[str]:
    return [name.strip().strip("`[]").replace("`.`", ".") for name in text.split(",") if name.strip()]


def _place_of(name: str, error: PySparkException, places: Places, call: SourceLocation | None) -> SourceLocation | None:
    """Return the location of a name in an error: in the line that Spark recorded, or else in the failing call."""
    for context in error.getQueryContext() or ():
        site = _CALL_SITE.fullmatch(_context_value(context, "callSite"))
        if site and places.owns(site[1]):
            return syntax.on_line(name, site[1], int(site[2]))
        name = name or _context_value(context, "fragment")
    return ((name and call and syntax.mention(name, call)) or call) if call else None


def _context_value(context: Any, method: str) -> str:
    """Return a value of a query context; "" if this kind of context does not have it."""
    try:
        return str(getattr(context, method)())
    except Exception:  # noqa: BLE001 - there are several errors for unsupported methods
        return ""


def _callers(frames: Sequence[SourceLocation], place: SourceLocation | None) -> list[Label]:
    """Return labels for outer calls of the author, and for the failing call if its statement lacks the place."""
    outer = frames[:-1] if frames else ()
    labels = [Label(frame.span, "called from here") for frame in outer[-3:]]
    last = frames[-1] if frames else None
    if last is not None and place is not None and not _contains(syntax.statement(last), place):
        labels.insert(0, Label(last.span, "used here"))
    return labels


def _contains(call: SourceLocation, place: SourceLocation) -> bool:
    return call.file == place.file and call.line <= place.line <= call.end_line


def _java_message(error: Any) -> str:
    inner = getattr(error, "java_exception", None)
    return _without_codes(str(inner.getMessage() if inner is not None else error).strip().partition("\n")[0])


def _split_message(message: str) -> tuple[str, str]:
    """Split a message at its first colon outside of backquotes."""
    quoted = False
    for index, character in enumerate(message):
        quoted ^= character == "`"
        if not quoted and message.startswith(": ", index):
            return message[:index], message[index + 2 :]
    return message, ""
