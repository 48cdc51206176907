"""Which settings exist, what each must be, and where a value comes from.

The table `SETTINGS` is the only list: the check, the suggestions, the docs and `flow config` read it. A streamlet's or
topic's block in the blueprint takes what `flow.streamlets.<ref>` and `flow.topics.<id>` take.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.hocon import ListValue, ObjectValue, Scalar, Value, key_span_of, path_text, span_of
from blueprint.quantities import QuantityError, duration, memory_size
from blueprint.spelling import alternatives, listing, near


class SettingType(enum.Enum):
    """What a setting's value must be; the text completes "must be ..."."""

    TEXT = "a text"
    LABEL = "a name of up to 63 lower-case letters, digits and `-` inside"
    WHOLE = "a whole number from 0"
    POSITIVE = "a whole number from 1"
    NUMBER = "a number from 0"
    TRUTH = "`true` or `false`"
    DURATION = "a duration such as `5 seconds`"
    SIZE = "a size such as `10 GiB`"
    STARTING = "`earliest` or `latest`"
    ISOLATION = "`none` or `process`"
    LEVEL = "`error`, `warning`, `note` or `off`"
    TRIGGER = "`available-now`, or an object with `processing-time` or `real-time`"
    OPTIONS = "an object of single values"
    OBJECT = "an object"
    SCHEMA = "a schema: the path of an `.avsc` file, or Avro or DDL text"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Arguments:
        key: its path below `flow`; `<...>` stands for a name of the user's.
        type: what its value must be.
        doc: what it does, one sentence.
        default: in force when nothing is set, as one would write it; empty when there is none.
    """

    key: str
    type: SettingType
    doc: str
    default: str = ""


def _retry(scope: str, whose: str) -> tuple[Setting, ...]:
    inherited = scope != "retry"
    rows = (
        ("enabled", SettingType.TRUTH, "Whether a failed unit is restarted", "true"),
        ("max-attempts", SettingType.WHOLE, "How often a unit is restarted before it fails for good", "2147483647"),
        ("min-backoff", SettingType.DURATION, "Wait before the first restart; each one more doubles it", "1 second"),
        ("max-backoff", SettingType.DURATION, "The longest wait before a restart", "1 hour"),
        ("random-factor", SettingType.NUMBER, "By how much of itself a wait is prolonged at random", "0"),
        ("stable-period", SettingType.DURATION, "How long a unit must run until restarts are forgotten", "60 seconds"),
    )  # fmt: skip
    return tuple(
        Setting(f"{scope}.{key}", type, f"{doc}{whose}.", "" if inherited else default)
        for key, type, doc, default in rows
    )


_TYPE = SettingType

SETTINGS: tuple[Setting, ...] = (
    Setting("application", _TYPE.TEXT, "The application's name; it names the state folder.", "the blueprint's folder"),
    Setting("trigger", _TYPE.TRIGGER, "When queries look for new records, where nothing nearer says so."),
    *_retry("retry", ""),
    Setting("isolation", _TYPE.ISOLATION, "Whether streamlets share one Spark, or have a process each.", "none"),
    Setting("runtimes.spark", _TYPE.OPTIONS, "Spark's settings for the whole application; `spark.` may be left out."),
    Setting("verify.rules.<code>", _TYPE.LEVEL, "How much findings of a code matter to `flow verify`."),
    Setting("streamlets.<ref>.parameters", _TYPE.OBJECT, "Values of the streamlet's config parameters, by key."),
    Setting("streamlets.<ref>.trigger", _TYPE.TRIGGER, "When the streamlet's queries look for new records."),
    *_retry("streamlets.<ref>.retry", ", for this streamlet"),
    Setting("streamlets.<ref>.spark", _TYPE.OPTIONS, "Spark's settings for the streamlet's session."),
    Setting("streamlets.<ref>.volume-mounts", _TYPE.OBJECT, "The folder of each of the streamlet's volume mounts."),
    Setting("streamlets.<ref>.inlets.<port>", _TYPE.SCHEMA, "The inlet's schema, when its class leaves it open."),
    Setting("streamlets.<ref>.inlets.<port>.schema", _TYPE.SCHEMA, "The same, beside other settings of the inlet."),
    Setting("streamlets.<ref>.inlets.<port>.max-records", _TYPE.POSITIVE, "How many records a batch takes at most."),
    Setting("streamlets.<ref>.inlets.<port>.starting", _TYPE.STARTING, "Where a new reader begins.", "earliest"),
    Setting("streamlets.<ref>.outlets.<port>", _TYPE.SCHEMA, "The outlet's schema, when its class leaves it open."),
    Setting("streamlets.<ref>.outlets.<port>.schema", _TYPE.SCHEMA, "The same, written as a block."),
    Setting("streamlets.<ref>.queries.<query>.trigger", _TYPE.TRIGGER, "When one of the streamlet's queries looks."),
    Setting("streamlets.<ref>.group", _TYPE.LABEL, "With whom it shares a driver process.", "the streamlet's name"),
    Setting("streamlets.<ref>.source-evolution", _TYPE.TRUTH, "Whether inlets may change on a checkpoint.", "true"),
    Setting("topics.<id>.channel", _TYPE.TEXT, "What carries the topic.", "delta"),
    Setting("topics.<id>.managed", _TYPE.TRUTH, "Whether the application creates the topic.", "true"),
    Setting("topics.<id>.retention.time", _TYPE.DURATION, "How long records stay at least; left out, for ever."),
    Setting("topics.<id>.retention.size", _TYPE.SIZE, "Beyond which size the oldest records go."),
    Setting("topics.<id>.retention.keep-unread", _TYPE.TRUTH, "Whether records stay until all have read them.", "true"),
    Setting("topics.<id>.cluster", _TYPE.TEXT, "The cluster that holds the topic."),
    Setting("topics.<id>.topic.name", _TYPE.TEXT, "The topic's name on its channel.", "the topic's id"),
    Setting("topics.<id>.topic.partitions", _TYPE.POSITIVE, "Into how many partitions the topic is divided."),
    Setting("topics.<id>.topic.replicas", _TYPE.POSITIVE, "How many copies the channel keeps."),
    Setting("topics.<id>.topic", _TYPE.OPTIONS, "Settings of the topic, as its channel names them."),
    Setting("topics.<id>.bootstrap.servers", _TYPE.TEXT, "Where the channel is found: `host:port, ...`."),
    Setting("topics.<id>.connection-config", _TYPE.OPTIONS, "Client settings for producers and consumers."),
    Setting("topics.<id>.producer-config", _TYPE.OPTIONS, "Client settings for producers."),
    Setting("topics.<id>.consumer-config", _TYPE.OPTIONS, "Client settings for consumers."),
)


def setting_of(path: Sequence[str]) -> Setting | None:
    """The setting at a path below `flow`, None when the path is no setting (or a section)."""
    node: _Node | None = _tree()
    for key in path:
        node = node.inner(key) if node is not None else None
    return node.setting if node is not None else None


def setting_findings(flow: ObjectValue) -> Iterator[Diagnostic]:
    """What is wrong with settings: keys that do not exist, values of another type.

    Arguments:
        flow: the `flow` section, the blueprint's own blocks beneath it. Null counts as not set.
    """
    yield from _section(flow, _tree(), ())


_OWN_SECTIONS = ("flow", "blueprint")


def stray_findings(root: ObjectValue, arguments: str) -> Iterator[Diagnostic]:
    """Sections beside `flow` and `blueprint` are the user's own, except where they are a slip.

    Arguments:
        root: the whole tree; arguments: the name under which spans speak of `key=value` arguments.
    """
    known = tuple(_tree().children)
    for key, value in root.fields.items():
        given = all(origin.span.file == arguments for origin in value.origins)
        if key in _OWN_SECTIONS:
            if key == "flow" and not isinstance(value, ObjectValue):
                yield _wrong(value, "`flow`", SettingType.OBJECT)
        elif near(key, ("flow",)) and isinstance(value, ObjectValue) and not set(value.fields).isdisjoint(known):
            yield _unknown(value, f"there is no section `{key}`", key, ("flow",), ())
        elif given and (key in known or near(key, known)):
            meant = key if key in known else near(key, known)[0]
            yield finding(
                "unknown-setting", f"there is no setting `{key}`", key_span_of(value),
                help=(f"did you mean `flow.{meant}`?",),
            )  # fmt: skip


# The table as a tree


@dataclass(slots=True)
class _Node:
    """What may stand under one key; `named` is what stands under a name of the user's."""

    children: dict[str, _Node] = field(default_factory=dict)
    named: _Node | None = None
    setting: Setting | None = None

    def inner(self, key: str) -> _Node | None:
        return self.children.get(key, self.named)


@cache
def _tree() -> _Node:
    root = _Node()
    for setting in SETTINGS:
        node = root
        for key in setting.key.split("."):
            if key.startswith("<"):
                node.named = node.named or _Node()
                node = node.named
            else:
                node = node.children.setdefault(key, _Node())
        node.setting = setting
    return root


def _section(value: ObjectValue, node: _Node, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    where = f"`{path_text(path)}`" if path else "`flow`"
    for key, inner in value.fields.items():
        below = node.inner(key)
        if below is not None:
            yield from _one(inner, below, (*path, key))
        elif node.setting is not None and node.setting.type is SettingType.OPTIONS:
            yield from _options(inner, (*path, key))
        else:
            known = [*node.children]
            yield _unknown(inner, f"{where} has no setting `{key}`", key, near(key, known), known)


def _one(value: Value, node: _Node, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    if isinstance(value, Scalar) and value.value is None:
        return
    setting, what = node.setting, f"`{path_text(path)}`"
    if isinstance(value, ObjectValue) and (node.children or node.named):
        yield from _section(value, node, path)
    elif setting is None:
        yield _wrong(value, what, SettingType.OBJECT)
    elif setting.type is SettingType.TRIGGER:
        yield from _trigger(value, what)
    elif setting.type is SettingType.OPTIONS:
        if isinstance(value, ObjectValue):
            yield from _options(value, path)
        else:
            yield _wrong(value, what, setting.type)
    elif (cause := _fault(value, setting.type)) is not None:
        yield _wrong(value, what, setting.type, cause)


def _options(value: Value, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Options have dots in their names, which HOCON reads as nesting; only a list cannot be one."""
    if isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from _options(inner, (*path, key))
    elif isinstance(value, ListValue):
        yield _wrong(value, f"`{path_text(path)}`", SettingType.TEXT)


_TRIGGERS = ("processing-time", "available-now", "real-time")


def _trigger(value: Value, what: str) -> Iterator[Diagnostic]:
    if not isinstance(value, ObjectValue):
        if not (isinstance(value, Scalar) and value.text == "available-now"):
            meant = isinstance(value, Scalar) and _fault(value, SettingType.DURATION) is None
            helps = (f"write `trigger {{ processing-time = {value.text} }}`",) if meant else ()  # type: ignore[union-attr]
            yield _wrong(value, what, SettingType.TRIGGER, help=helps)
        return
    given = {key: inner for key, inner in value.fields.items() if not _is_null(inner)}
    for key, inner in given.items():
        if key not in _TRIGGERS:
            yield _unknown(inner, f"{what} has no setting `{key}`", key, near(key, _TRIGGERS), _TRIGGERS)
            continue
        wanted = SettingType.TRUTH if key == "available-now" else SettingType.DURATION
        cause = _fault(inner, wanted)
        if cause is None and key == "real-time" and duration(inner.text).nanoseconds == 0:  # type: ignore[union-attr]
            cause = "a real-time trigger needs some time between checkpoints"
        if cause is not None:
            yield _wrong(inner, f"`{key}` of {what}", wanted, cause)
    kinds = [inner for key, inner in given.items() if key in _TRIGGERS and getattr(inner, "text", "") not in _FALSE]
    if len(kinds) > 1:
        first, second = kinds[:2]
        yield finding(
            "setting-type", f"{what} names more than one kind of trigger", key_span_of(second),
            also=(Label(key_span_of(first), "the other"),), help=("keep one; `null` takes a key back",),
        )  # fmt: skip


# Values

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_WHOLE = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?")


def _fault(value: Value, wanted: SettingType) -> str | None:
    """Why a value is not of the type wanted; None when it is. An empty cause says all there is to say."""
    match wanted, value:
        case SettingType.OBJECT, _:
            return None if isinstance(value, ObjectValue) else ""
        case SettingType.SCHEMA, ObjectValue():
            return None
        case _, ListValue() | ObjectValue() | Scalar(value=None):
            return ""
        case SettingType.TEXT | SettingType.SCHEMA, Scalar(text=text):
            return None if text.strip() else "it is empty"
        case SettingType.LABEL, Scalar(text=text):
            return None if _LABEL.fullmatch(text) else ""
        case SettingType.WHOLE, Scalar(text=text):
            return None if _WHOLE.fullmatch(text) else ""
        case SettingType.POSITIVE, Scalar(text=text):
            return None if _WHOLE.fullmatch(text) and int(text) else ""
        case SettingType.NUMBER, Scalar(text=text):
            return None if _NUMBER.fullmatch(text) else ""
        case SettingType.TRUTH, Scalar(text=text):
            return None if text in _TRUE + _FALSE else ""
        case SettingType.LEVEL, Scalar(text=text):
            return None if text in ("error", "warning", "note", "off") else ""
        case SettingType.ISOLATION, Scalar(text=text):
            return None if text in ("none", "process") else ""
        case SettingType.STARTING, Scalar(text=text):
            return None if text in ("earliest", "latest") else ""
        case SettingType.DURATION, Scalar(text=text):
            try:
                duration(text)
            except QuantityError as error:
                return str(error)
        case SettingType.SIZE, Scalar(text=text):
            try:
                memory_size(text)
            except QuantityError as error:
                return str(error)
    return None


def _is_null(value: Value) -> bool:
    return isinstance(value, Scalar) and value.value is None


def _wrong(value: Value, what: str, wanted: SettingType, cause: str = "", help: Sequence[str] = ()) -> Diagnostic:
    via = value.origins[-1].via
    return finding(
        "setting-type", f"{what} must be {wanted.value}", span_of(value), label=f"this is {_described(value)}",
        also=(Label(via, "comes in here"),) if via is not None else (), causes=(cause,) if cause else (), help=help,
    )  # fmt: skip


def _unknown(value: Value, headline: str, key: str, close: Sequence[str], known: Sequence[str]) -> Diagnostic:
    span = key_span_of(value)
    if close:
        helps = [f"did you mean {alternatives(close)}?"]
    else:
        helps = [f"known are {listing(sorted(known))}"] if known else []
    fix = rewrite((span, key, close[0])) if close else None
    return finding("unknown-setting", headline, span, help=helps, fix=fix)


def _described(value: Value) -> str:
    if isinstance(value, ListValue):
        return "a list"
    if isinstance(value, ObjectValue):
        return "an object"
    return "null" if value.value is None else f"`{value.text[:40]}`"
