"""Secrets, which no output shows: values of settings with a name such as `password`, and where they are used."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.hocon.values import ObjectValue, Scalar
from blueprint.quantities import Duration
from blueprint.settings.secret_texts import (
    PLAIN_WORDS,
    SECRET,
    SUBSTITUTION,
    is_secret,
    masked,
    names_secret,
    notations,
    pattern_of,
    starred,
    starred_line,
    without_credentials,
)

if TYPE_CHECKING:
    from blueprint.hocon.values import Json


class Secret(str):
    """The value of a setting that is defined as a secret. Its `repr` does not show it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return SECRET


_Item = TypeVar("_Item")
_Data = TypeVar("_Data")

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
        return [SECRET if after else without_secrets(key, item) for item, after in words_of(value)]
    return masked(value) if isinstance(value, str) else value


def shown_default(key: str, default: str) -> str:
    """Return the default of a config parameter, in the notation of a blueprint, without secrets."""
    return SECRET if is_secret(key) else masked(default)


def words_of(items: Sequence[_Item]) -> Iterator[tuple[_Item, bool]]:
    """Yield the items of a list, and whether each of them is the value of an option of a command with a secret name."""
    before: object = None
    for item in items:
        yield item, names_secret(before)
        before = item.value if isinstance(item, Scalar) else item


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
        name = named_below(name, above, key)
    return is_secret(name)


def named_below(name: str, above: str, key: str) -> str:
    """Return the name of a setting below another, which is that other's name if the user chooses the key.

    Arguments:
        name: of the setting above.
        above: its key.
        key: of the setting.
    """
    if above in _USER_NAMED:
        return name
    return f"{name}.{key}" if name else key


class Secrets:
    """The secrets of one application, to be replaced wherever they appear in its output.

    Arguments:
        values: of secret settings; values of less than four characters are not searched for in other texts.
        spans: of secrets in configuration files and arguments.

    Attributes:
        values: the values, as they are.
    """

    def __init__(self, values: Iterable[str] = (), spans: Iterable[Span] = ()) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._files: dict[Path, tuple[int, int, int] | None] = {}
        self._values: re.Pattern[str] | None = None
        self._spans = tuple(spans)
        self.values: set[str] = set()
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """Replace further values, and each of their lines, too, from here on; also as JSON, Python and URLs write
        them."""
        with self._lock:
            added = {value for value in values if value.lower() not in PLAIN_WORDS} - self.values
            self.values |= added
            written = {form for value in added for line in (value, *value.splitlines()) for form in notations(line)}
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
                    self.add((file.read_text(encoding="utf-8").rstrip("\n"),))
                    self._files[file] = identity  # last: until then, other threads read the file themselves
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
        """Return a dataclass without secrets in its fields that are strings or tuples of strings."""
        changed: dict[str, object] = {}
        for field in fields(data):  # type: ignore[arg-type]
            value = getattr(data, field.name)
            if isinstance(value, str):
                changed[field.name] = self.masked(value)
            elif isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
                changed[field.name] = tuple(map(self.masked, value))
        return replace(data, **changed)  # type: ignore[type-var]
