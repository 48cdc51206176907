"""Secrets, which no output shows: the values of settings with a name such as `password`, and where they are used."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value
from blueprint.quantities import Duration
from blueprint.settings.secret_texts import (
    SECRET,
    SUBSTITUTION,
    VARIABLE,
    is_secret,
    masked,
    notations,
    option_secrets,
    path_of,
    pattern_of,
    secret_variables,
    secrets_with_variables,
    starred,
    starred_line,
    without_credentials,
)

if TYPE_CHECKING:
    from blueprint.hocon.values import Json
    from blueprint.plan import ApplicationPlan
    from blueprint.setting import SettingNode


class Secret(str):
    """The value of a setting that is defined as a secret. Its `repr` does not show it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return SECRET


_REFERENCE = {"env", "file", "as"}
_USER_NAMED = ("streamlets", "topics", "inlets", "outlets", "queries", "volume-mounts")
"""The keys below these are names that the user chooses, which do not make a value secret."""

_SHORTEST = 4
"""A shorter value is too often an ordinary word to be replaced in other texts."""


def is_reference(value: object) -> bool:
    """Return whether a value only names the place of a secret, as `{ env = NAME }` and `{ file = PATH }` do."""
    fields = value.fields if isinstance(value, ObjectValue) else value
    if not isinstance(fields, Mapping) or not ("env" in fields or "file" in fields) or not set(fields) <= _REFERENCE:
        return False
    plain = (field.value if isinstance(field, Scalar) else field for field in fields.values())
    return all(isinstance(inner, str) for inner in plain)


def without_secrets(key: str, value: Json) -> Json:
    """Return the value of a setting with `SECRET` in place of each secret.

    Arguments:
        key: of the setting; keys inside an object are checked, too.
        value: of the setting.
    """
    if isinstance(value, dict) and is_reference(value):
        return value
    if value is not None and is_secret(key) and not _has_references(value):
        return SECRET
    if isinstance(value, dict):
        return {inner: without_secrets(f"{key}.{inner}", field) for inner, field in value.items()}
    if isinstance(value, list):
        return [without_secrets(key, item) for item in value]
    return masked(value) if isinstance(value, str) else value


def shown_default(key: str, default: str) -> str:
    """Return the default of a config parameter, in the notation of a blueprint, without secrets."""
    return SECRET if is_secret(key) else masked(default)


def hidden(settings: Mapping[str, object]) -> dict[str, Json]:
    """Return settings by key as JSON, sorted, without secrets; values without a JSON type become strings."""
    return {key: without_secrets(key, as_json(settings[key])) for key in sorted(settings)}


def _has_references(value: Json) -> bool:
    """Return whether every value in an object is a reference to a secret, as in `secrets` of a spout."""
    return isinstance(value, dict) and bool(value) and all(map(is_reference, value.values()))


def without_secret_differences(old: Json, new: Json) -> tuple[Json, Json]:
    """Return two values as they are compared: where one has `SECRET`, the other one has it, too.

    A secret cannot be compared, and an older value may come from a version that did not know that it was one.
    """
    if SECRET in (old, new):
        return SECRET, SECRET
    if isinstance(old, dict) and isinstance(new, dict):
        both = {key: without_secret_differences(old[key], new[key]) for key in old.keys() & new.keys()}
        return (
            {key: both[key][0] if key in both else value for key, value in old.items()},
            {key: both[key][1] if key in both else value for key, value in new.items()},
        )
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [without_secret_differences(*pair) for pair in zip(old, new, strict=True)]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if isinstance(old, str) and isinstance(new, str) and (SECRET in old) != (SECRET in new):
        masked_text, other = (old, new) if SECRET in old else (new, old)
        pattern = ".*".join(map(re.escape, masked_text.split(SECRET)))
        same = re.fullmatch(pattern, other, re.DOTALL) is not None
        return (masked_text, masked_text) if same else (masked(old), masked(new))
    return old, new


def as_json(value: object) -> Json:
    """Return a value of a parameter or setting as JSON; durations and sizes become strings."""
    match value:
        case Secret():
            return SECRET
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): as_json(value[key]) for key in sorted(value, key=str)}
        case list() | tuple():
            return [as_json(item) for item in value]
        case Duration():
            return value.sql  # the same in every release: descriptors are compared
        case _:
            return str(value)


def is_secret_path(path: Sequence[str]) -> bool:
    """Return whether a setting is a secret by its path, not counting the names of streamlets, topics and the like."""
    name = ""
    for above, key in zip(("", *path), path, strict=False):
        name = _below(name, above, key)
    return is_secret(name)


def _below(name: str, above: str, key: str) -> str:
    """Return the name of a setting below another, which is that other's name if the user chooses the key.

    Arguments:
        name: of the setting above.
        above: its key.
        key: of the setting.
    """
    if above in _USER_NAMED:
        return name
    return f"{name}.{key}" if name else key


_Data = TypeVar("_Data")


class Secrets:
    """The secrets of one application, to be replaced wherever they appear in its output.

    Arguments:
        values: of secret settings; values of less than four characters are not searched for in other texts.
        spans: of secrets in configuration files and arguments.
    """

    def __init__(self, values: Iterable[str] = (), spans: Iterable[Span] = ()) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._files: dict[Path, tuple[int, int, int] | None] = {}
        self._values: re.Pattern[str] | None = None
        self._spans = tuple(spans)
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """Replace further values, and each of their lines, too, from here on; also as JSON, Python and URLs write
        them."""
        written = {form for value in values for line in (value, *value.splitlines()) for form in notations(line)}
        with self._lock:
            new = {value for value in written if len(value) >= _SHORTEST} - self._known
            if new:
                self._known |= new
                known = sorted(self._known, key=len, reverse=True)
                self._values = re.compile("|".join(map(pattern_of, known)))

    def follow(self, file: Path) -> None:
        """Replace the content of a file, and each line of it, also when the file is replaced later."""
        with self._lock:
            self._files.setdefault(file, None)

    def _read_changed_files(self) -> None:
        for file, seen in list(self._files.items()):
            try:
                status = file.stat()
                identity = (status.st_ino, status.st_mtime_ns, status.st_size)
                if identity != seen:
                    text = file.read_text(encoding="utf-8")
                    self._files[file] = identity
                    self.add((text.rstrip("\n"),))
            except (OSError, UnicodeDecodeError):
                continue

    def masked(self, text: str) -> str:
        """Return a text with `SECRET` in place of each secret, including values assigned to `password` or the like."""
        return masked(self.without(text))

    def without(self, text: str) -> str:
        """Return a text with `SECRET` in place of each value of a secret setting, and of credentials in URLs."""
        if self._files:
            self._read_changed_files()
        return without_credentials(self._values.sub(SECRET, text) if self._values else text)

    def line(self, file: str, number: int, text: str) -> str:
        """Return a line of a source with `*` in place of each character of a secret, which preserves columns.

        Arguments:
            file: the name that spans have for the file.
            number: of the line, from 1.
            text: of the line.
        """
        text = self._values.sub(starred, text) if self._values else text
        for span in self._spans:
            if span.file == file and span.line <= number <= span.end_line:
                start = span.column - 1 if number == span.line else 0
                end = span.end_column - 1 if number == span.end_line else len(text)
                if not text[start:end].startswith(SUBSTITUTION):
                    text = text[:start] + "*" * len(text[start:end]) + text[end:]
        return starred_line(text, is_sql=file.endswith(".sql"), is_code=file.endswith(".py"))

    def json(self, value: Json) -> Json:
        """Return a value without secrets in its strings; the keys of objects stay."""
        match value:
            case str():
                return self.without(value)
            case dict():
                return {key: self.json(inner) for key, inner in value.items()}
            case list():
                return [self.json(item) for item in value]
            case _:
                return value

    def finding(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a finding without secrets in its texts."""

        def label(label: Label) -> Label:
            return replace(label, message=self.without(label.message))

        return replace(
            diagnostic,
            headline=self.without(diagnostic.headline),
            primary=label(diagnostic.primary) if diagnostic.primary else None,
            secondary=tuple(map(label, diagnostic.secondary)),
            causes=tuple(map(self.without, diagnostic.causes)),
            help=tuple(map(self.without, diagnostic.help)),
        )

    def data(self, data: _Data) -> _Data:
        """Return a dataclass without secrets in those of its fields that are strings or tuples of strings."""
        changed: dict[str, object] = {}
        for field in fields(data):  # type: ignore[arg-type]
            value = getattr(data, field.name)
            if isinstance(value, str):
                changed[field.name] = self.masked(value)
            elif isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
                changed[field.name] = tuple(map(self.masked, value))
        return replace(data, **changed)  # type: ignore[type-var]


def secrets_in(tree: ObjectValue, flow: ObjectValue, known: SettingNode) -> Secrets:
    """Return the secrets of a resolved configuration.

    Arguments:
        tree: the whole tree.
        flow: its settings: the `flow` section over the blocks of the blueprint.
        known: the settings that the application may have; those that are defined as secrets are secrets.
    """
    texts = list(_texts(tree))
    variables = {path for text in texts for path in secret_variables(text)}
    used = _below_paths(tree, variables) if variables else ()
    scalars = [*_secret_scalars(tree), *_defined_secrets(flow, known), *used]
    values = [scalar.value for scalar in scalars if isinstance(scalar.value, str)]
    values += [secret for text in texts for secret in option_secrets(text)]
    return Secrets(values, [origin.span for scalar in scalars for origin in scalar.origins])


def _below_paths(value: Value, paths: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Iterator[Scalar]:
    """Yield the single values whose path ends with one of some paths: a variable of a job, and where it comes from."""
    match value:
        case Scalar():
            if any(path[-len(wanted) :] == wanted for wanted in paths):
                yield value
        case ObjectValue(inner):
            for key, field in inner.items():
                yield from _below_paths(field, paths, (*path, key))


def secrets_of(plan: ApplicationPlan) -> Secrets:
    """Return the secrets of an application's plan."""
    groups = [
        plan.settings.spark,
        *(settings for streamlet in plan.streamlets for settings in (streamlet.parameters, streamlet.settings.spark)),
        *(options for topic in plan.topics for options in (topic.options, topic.channel_options)),
        *(inlet.options for streamlet in plan.streamlets for inlet in streamlet.inlets),
        *(outlet.options for streamlet in plan.streamlets for outlet in streamlet.outlets),
    ]
    return Secrets(text for group in groups for text in secrets_of_values(group))


def secrets_of_values(values: Mapping[str, object]) -> Iterator[str]:
    """Yield the secrets in settings or config parameters by key, and the values of variables that secrets use."""
    for key, value in values.items():
        yield from _secret_texts(key, value)
    texts = [value for value in values.values() if isinstance(value, str)]
    for secret in {secret for text in texts for secret in secrets_with_variables(text)}:
        used = {variable: _variable(values, path_of(variable)) for variable in re.findall(VARIABLE, secret)}
        yield from used.values()
        yield _composed(secret, used)


def _composed(text: str, used: Mapping[str, str]) -> str:
    """Return a text with the values of its variables."""
    return re.sub(VARIABLE, lambda match: used[match[1]], text)


def _variable(values: Mapping[str, object], path: Sequence[str]) -> str:
    """Return the value of a variable of a job; "" if it is not a single one."""
    found: object = values.get("variables")
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return "" if found is None or isinstance(found, Mapping) else str(found)


def parameter_secrets(parameters: Mapping[str, object]) -> Secrets:
    """Return the secrets of the parameters of a streamlet."""
    return Secrets(text for key, value in parameters.items() for text in _secret_texts(key, value))


def _secret_scalars(value: Value, name: str = "", above: str = "", *, inside: bool = False) -> Iterator[Scalar]:
    """Yield all single values at and below secret paths.

    Arguments:
        value: of a setting.
        name: of the setting, without the names that the user chooses.
        above: the last key of its path.
        inside: whether the setting is below a secret.
    """
    if isinstance(value, ObjectValue) and is_reference(value):
        return
    secret = inside or (bool(name) and is_secret(name))
    match value:
        case Scalar():
            if secret:
                yield value
        case ListValue(items):
            for item in items:
                yield from _secret_scalars(item, name, above, inside=secret)
        case ObjectValue(inner):
            for key, field in inner.items():
                yield from _secret_scalars(field, _below(name, above, key), key, inside=secret)


def _texts(value: Value) -> Iterator[str]:
    """Yield all strings at and below a setting."""
    match value:
        case Scalar():
            if isinstance(value.value, str):
                yield value.value
        case ListValue(items):
            for item in items:
                yield from _texts(item)
        case ObjectValue(inner):
            for field in inner.values():
                yield from _texts(field)


def _defined_secrets(value: Value, node: SettingNode | None) -> Iterator[Scalar]:
    if node is None:
        return
    if node.setting is not None and node.setting.secret:
        yield from _secret_scalars(value, inside=True)
    elif isinstance(value, ObjectValue):
        for key, field in value.fields.items():
            yield from _defined_secrets(field, node.inner(key))


def _secret_texts(key: str, value: object, *, inside: bool = False) -> Iterator[str]:
    if is_reference(value):
        return
    secret = inside or is_secret(key)
    match value:
        case str():
            if secret or isinstance(value, Secret):
                yield str(value)
            else:
                yield from option_secrets(value)
        case Mapping():
            for inner, field in value.items():
                yield from _secret_texts(str(inner), field, inside=secret)
        case list() | tuple():
            for item in value:
                yield from _secret_texts(key, item, inside=secret)
