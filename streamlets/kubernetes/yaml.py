"""YAML with comments: plain data in block style, where a value may name the setting that it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

_PLAIN = re.compile(r"(?!(?i:[yn])\Z)(--)?[A-Za-z/][\w./-]*(:[\w./-]+)*|[1-9][0-9]*[A-Za-z]{1,2}", re.ASCII)
"""Strings that are written without quotes, unless YAML reads them as something else, such as `on`."""

_UNUSABLE = r"\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff"
_UNPRINTABLE = re.compile(f"[{_UNUSABLE}]")
_BLOCK = re.compile(rf"(?=\n*\S)[^\x00-\x08\x0b-\x1f{_UNUSABLE}]*")
"""Texts that a literal block can have: the first line with characters is not indented."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A value with a comment.

    Arguments:
        value: the value.
        note: one line: the setting that it comes from, or why it is so.
    """

    value: Node
    note: str


Node = None | bool | int | str | Sequence["Node"] | Mapping[str, "Node"] | Noted
"""Plain data with comments."""


def plain(node: Node) -> object:
    """Return the data without comments."""
    match node:
        case Noted():
            return plain(node.value)
        case Mapping():
            return {key: plain(value) for key, value in node.items()}
        case str():
            return node
        case Sequence():
            return [plain(item) for item in node]
        case _:
            return node


def to_yaml(node: Mapping[str, Node]) -> str:
    """Return an object as a YAML document. Comments are on the line of a single value, and above other values."""
    return "".join(f"{line}\n" for line in _fields(node))


def _fields(node: Mapping[str, Node], indent: str = "") -> Iterator[str]:
    for key, value in node.items():
        yield from _entry(f"{indent}{_scalar(key)}:", value, indent)


def _entry(start: str, node: Node, indent: str) -> Iterator[str]:
    """Yield the lines of a value after its key."""
    note, value = (node.note, node.value) if isinstance(node, Noted) else ("", node)
    if isinstance(value, Mapping) and value:
        yield from _above(note, indent)
        yield start
        yield from _fields(value, f"{indent}  ")
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        yield from _above(note, indent)
        yield start
        for item in value:
            yield from _item(item, indent)
    elif isinstance(value, str) and "\n" in value and _BLOCK.fullmatch(value):
        yield from _above(note, indent)
        kept = "+" if value.endswith("\n\n") else "" if value.endswith("\n") else "-"
        yield f"{start} |{kept}"
        yield from (f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    else:
        yield f"{start} {_scalar(value)}{f'  # {note}' if note else ''}"


def _item(node: Node, indent: str) -> Iterator[str]:
    """Yield the lines of an item of a list."""
    note, value = (node.note, node.value) if isinstance(node, Noted) else ("", node)
    if isinstance(value, Mapping) and value:
        yield from _above(note, indent)
        first, *others = _fields(value, f"{indent}  ")
        while first.lstrip().startswith("#"):
            yield first
            first, *others = others
        yield f"{indent}- {first.removeprefix(indent + '  ')}"
        yield from others
    else:
        yield f"{indent}- {_scalar(value)}{f'  # {note}' if note else ''}"


def _above(note: str, indent: str) -> Iterator[str]:
    if note:
        yield f"{indent}# {note}"


def _scalar(value: Node) -> str:
    """Return a single value, or an empty list or object, in one line. Strings in JSON are strings in YAML."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(plain(value), ensure_ascii=False))
