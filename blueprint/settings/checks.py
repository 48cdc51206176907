"""Settings held to the table: keys that do not exist, values that are not what they must be."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from blueprint.diagnostics import Diagnostic, FixKind, Label, finding
from blueprint.hocon import ListValue, ObjectValue, Scalar, Value, key_span_of, path_text, span_of
from blueprint.model.slips import renamed
from blueprint.quantities import LARGEST_COUNT, QuantityError, backoff, duration, memory_size
from blueprint.settings.table import SettingNode, SettingType, setting_tree
from blueprint.spelling import alternatives, listing, misspelling_of, near


def setting_findings(flow: ObjectValue) -> Iterator[Diagnostic]:
    """What is wrong with settings: keys that do not exist, values of another type.

    Arguments:
        flow: the `flow` section, the blueprint's own blocks beneath it. Null counts as not set.
    """
    yield from _section(flow, setting_tree(), ())


_OWN_SECTIONS = ("flow", "blueprint")


def stray_findings(root: ObjectValue, arguments: str) -> Iterator[Diagnostic]:
    """Sections beside `flow` and `blueprint` are the user's own, except where they are a slip.

    Arguments:
        root: the whole tree; arguments: the name under which spans speak of `key=value` arguments.
    """
    known = tuple(setting_tree().children)
    for key, value in root.fields.items():
        given = all(origin.span.file == arguments for origin in value.origins)
        if key in _OWN_SECTIONS:
            if key == "flow" and not isinstance(value, ObjectValue):
                yield _wrong(value, "`flow`", SettingType.OBJECT)
        elif near(key, ("flow",)) and isinstance(value, ObjectValue) and not set(value.fields).isdisjoint(known):
            yield _unknown(value, f"there is no section `{key}`", key, ("flow",), (), taken=root.fields)
        elif given and (key in known or near(key, known)):
            meant = key if key in known else near(key, known)[0]
            yield finding(
                "unknown-setting", f"there is no setting `{key}`", key_span_of(value),
                help=(f"did you mean `flow.{meant}`?",),
            )  # fmt: skip


def _section(value: ObjectValue, node: SettingNode, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    where = f"`{path_text(path)}`" if path else "`flow`"
    for key, inner in value.fields.items():
        below = node.inner(key)
        if below is not None:
            yield from _one(inner, below, (*path, key))
        elif node.setting is not None and node.setting.type is SettingType.OPTIONS:
            yield from _options(inner, (*path, key))
        else:
            known = [*node.children]
            yield _unknown(inner, f"{where} has no setting `{key}`", key, near(key, known), known, taken=value.fields)


def _one(value: Value, node: SettingNode, path: tuple[str, ...]) -> Iterator[Diagnostic]:
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
            yield _unknown(inner, f"{what} has no setting `{key}`", key, near(key, _TRIGGERS), _TRIGGERS, taken=given)
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
        case ((SettingType.WHOLE | SettingType.POSITIVE), Scalar(text=text)):
            if not _WHOLE.fullmatch(text) or (wanted is SettingType.POSITIVE and not int(text)):
                return ""
            return None if int(text) <= LARGEST_COUNT else f"`{text}` is larger than {LARGEST_COUNT}"
        case SettingType.NUMBER, Scalar(text=text):
            return None if _NUMBER.fullmatch(text) else ""
        case SettingType.TRUTH, Scalar(text=text):
            return None if text in _TRUE + _FALSE else ""
        case SettingType.LEVEL, Scalar(text=text):
            return None if text in ("error", "warning", "note", "off") else ""
        case SettingType.ISOLATION, Scalar(text=text):
            return None if text in ("none", "process") else ""
        case SettingType.ACCESS, Scalar(text=text):
            return None if text in ("owner", "group") else ""
        case SettingType.STARTING, Scalar(text=text):
            return None if text in ("earliest", "latest") else ""
        case SettingType.DURATION, Scalar(text=text):
            try:
                duration(text)
            except QuantityError as error:
                return str(error)
        case SettingType.BACKOFF, Scalar(text=text):
            try:
                backoff(text)
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


def _unknown(
    value: Value, headline: str, key: str, close: Sequence[str], known: Sequence[str], *, taken: Container[str]
) -> Diagnostic:
    """The finding for a key that is not one of `known`; `taken` are the keys that are set beside it."""
    if close:
        helps = [f"did you mean {alternatives(close)}?"]
    else:
        helps = [f"known are {listing(sorted(known))}"] if known else []
    only = misspelling_of(key, known or close)
    fix = renamed(FixKind.RENAME_SETTING, value, key, only) if only is not None and only not in taken else None
    return finding("unknown-setting", headline, key_span_of(value), help=helps, fix=fix)


def _described(value: Value) -> str:
    if isinstance(value, ListValue):
        return "a list"
    if isinstance(value, ObjectValue):
        return "an object"
    return "null" if value.value is None else f"`{value.text[:40]}`"
