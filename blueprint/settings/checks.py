"""Checks of settings against the table: keys that do not exist, and values of the wrong type."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from blueprint.core_settings import setting_tree
from blueprint.diagnostics import Diagnostic, FixKind, Label, finding
from blueprint.hocon import path_text
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, is_null, key_span_of, span_of
from blueprint.model.findings import rename_key
from blueprint.quantities import boolean
from blueprint.setting import SettingNode
from blueprint.setting_types import (
    BOOLEAN,
    DURATION,
    FREE_FORM,
    OBJECT,
    SCHEMA,
    STRING,
    STRINGS,
    TRIGGER,
    Codec,
    SettingType,
)
from blueprint.spelling import alternatives, listing, misspelling_of, near


def setting_findings(flow: ObjectValue, known: SettingNode) -> Iterator[Diagnostic]:
    """Yield findings about settings: keys that do not exist, and values of the wrong type.

    Arguments:
        flow: the `flow` section over the blocks of the blueprint. Null counts as not set.
        known: the settings that the application may have.
    """
    yield from _section_findings(flow, known, ())


_OWN_SECTIONS = ("flow", "blueprint")


def stray_findings(root: ObjectValue, arguments: str) -> Iterator[Diagnostic]:
    """Yield findings for top-level sections that are probably a misspelling of `flow`, or a setting without it.

    All other sections besides `flow` and `blueprint` belong to the user.

    Arguments:
        root: the whole tree.
        arguments: the file name that spans of `key=value` arguments have.
    """
    known = tuple(setting_tree().children)
    for key, value in root.fields.items():
        from_arguments = all(origin.span.file == arguments for origin in value.origins)
        if key in _OWN_SECTIONS:
            if key == "flow" and not isinstance(value, ObjectValue):
                yield _wrong_type(value, "`flow`", OBJECT)
        elif near(key, ("flow",)) and isinstance(value, ObjectValue) and not set(value.fields).isdisjoint(known):
            yield _unknown_setting(value, f"there is no section `{key}`", key, ("flow",), (), taken=root.fields)
        elif from_arguments and (key in known or near(key, known)):
            meant = key if key in known else near(key, known)[0]
            yield finding(
                "unknown-setting", f"there is no setting `{key}`", key_span_of(value),
                help=(f"did you mean `flow.{meant}`?",),
            )  # fmt: skip


def _section_findings(section: ObjectValue, node: SettingNode, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    where = f"`{path_text(path)}`" if path else "`flow`"
    for key, value in section.fields.items():
        inner = node.inner(key)
        if inner is not None:
            for diagnostic in _value_findings(value, inner, (*path, key)):
                yield diagnostic.about((*path, key)) if len(path) == 1 else diagnostic
        elif node.setting is not None and node.setting.type in FREE_FORM:
            yield from _option_findings(value, (*path, key))
        else:
            known, headline = [*node.children], f"{where} has no setting `{key}`"
            if (meant := _keys_elsewhere(node).get(key)) is not None:
                yield _unknown_setting(value, headline, key, [meant], [], taken=section.fields, meant=meant)
            else:
                yield _unknown_setting(value, headline, key, near(key, known), known, taken=section.fields)


def _keys_elsewhere(node: SettingNode) -> dict[str, str]:
    """Return the key of each setting in a section by its keys in other systems."""
    declared = {key: inner.setting for key, inner in node.children.items() if inner.setting is not None}
    return {other: key for key, setting in declared.items() for other in setting.elsewhere}


def _value_findings(value: Value, node: SettingNode, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    if is_null(value):
        return
    type, subject = node.setting.type if node.setting is not None else None, f"`{path_text(path)}`"
    if isinstance(value, ObjectValue) and (node.children or node.named):
        yield from _section_findings(value, node, path)
    elif type is None:
        yield _wrong_type(value, subject, OBJECT)
    elif type is TRIGGER:
        yield from _trigger_findings(value, subject)
    elif type in FREE_FORM:
        if isinstance(value, ObjectValue):
            yield from _option_findings(value, path)
        else:
            yield _wrong_type(value, subject, type)
    elif (cause := _type_error(value, type)) is not None:
        yield _wrong_type(value, subject, type, cause)


def _option_findings(value: Value, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Options have dots in their names, which HOCON reads as nesting; only a list cannot be an option."""
    if isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from _option_findings(inner, (*path, key))
    elif isinstance(value, ListValue):
        yield _wrong_type(value, f"`{path_text(path)}`", STRING)


_TRIGGERS = ("processing-time", "available-now", "real-time")


def _trigger_findings(value: Value, subject: str) -> Iterator[Diagnostic]:
    if not isinstance(value, ObjectValue):
        if not (isinstance(value, Scalar) and value.text == "available-now"):
            interval = DURATION.value(value)
            helps = (f"write `trigger {{ processing-time = {value.text} }}`",) if interval is not None else ()  # type: ignore[union-attr]
            yield _wrong_type(value, subject, TRIGGER, help=helps)
        return
    triggers = {key: inner for key, inner in value.fields.items() if not is_null(inner)}
    for key, inner in triggers.items():
        if key == "continuous":
            yield finding(
                "unknown-setting",
                f"{subject} cannot be `continuous`",
                key_span_of(inner),
                causes=("Spark's continuous processing supports neither state nor graceful shutdown",),
                help=("use `real-time = 5 minutes`, with the time between two checkpoints",),
            )
            continue
        if key not in _TRIGGERS:
            headline = f"{subject} has no setting `{key}`"
            yield _unknown_setting(inner, headline, key, near(key, _TRIGGERS), _TRIGGERS, taken=triggers)
            continue
        type = BOOLEAN if key == "available-now" else DURATION
        cause = _type_error(inner, type)
        if cause is not None:
            yield _wrong_type(inner, f"`{key}` of {subject}", type, cause)
    enabled = [
        inner
        for key, inner in triggers.items()
        if key in _TRIGGERS and boolean(getattr(inner, "text", "")) is not False
    ]
    if len(enabled) > 1:
        first, second = enabled[:2]
        yield finding(
            "setting-type", f"{subject} sets more than one kind of trigger", key_span_of(second),
            also=(Label(key_span_of(first), "the other kind"),), help=("keep one; `null` unsets a key",),
        )  # fmt: skip


def _type_error(value: Value, type: SettingType[object]) -> str | None:
    """Return why a value does not have a type, "" where the type says enough; None when the value has the type."""
    if type is OBJECT:
        return None if isinstance(value, ObjectValue) else ""
    if type is SCHEMA and isinstance(value, ObjectValue):
        return None
    if type is STRINGS:
        items = value.items if isinstance(value, ListValue) else ()
        return None if isinstance(value, ListValue) and all(_type_error(item, STRING) is None for item in items) else ""
    if not isinstance(value, Scalar) or value.value is None:
        return ""
    codec = type if isinstance(type, Codec) else STRING
    try:
        codec.read(value.text)
    except ValueError as error:
        return str(error)
    return None


def _wrong_type(
    value: Value, subject: str, type: SettingType[object], cause: str = "", help: Sequence[str] = ()
) -> Diagnostic:
    via = value.origins[-1].via
    return finding(
        "setting-type", f"{subject} must be {type.expected}", span_of(value), label=f"this is {_described(value)}",
        also=(Label(via, "substituted here"),) if via is not None else (), causes=(cause,) if cause else (), help=help,
    )  # fmt: skip


def _unknown_setting(
    value: Value, headline: str, key: str, close: Sequence[str], known: Sequence[str], *, taken: Container[str],
    meant: str | None = None,
) -> Diagnostic:  # fmt: skip
    """Return the finding for a key that is not a setting.

    Arguments:
        value: of the key.
        headline: of the finding.
        key: as written.
        close: the settings that may have been meant, the closest first.
        known: the settings that are valid there.
        taken: the keys that are set next to it.
        meant: the setting that was certainly meant; None to find it by its spelling.
    """
    if close:
        helps = [f"did you mean {alternatives(close)}?"]
    else:
        helps = [f"known settings are {listing(sorted(known))}"] if known else []
    only = meant or misspelling_of(key, known or close)
    fix = rename_key(FixKind.RENAME_SETTING, value, key, only) if only is not None and only not in taken else None
    return finding("unknown-setting", headline, key_span_of(value), help=helps, fix=fix)


def _described(value: Value) -> str:
    if isinstance(value, ListValue):
        return "a list"
    if isinstance(value, ObjectValue):
        return "an object"
    return "null" if value.value is None else f"`{value.text[:40]}`"
