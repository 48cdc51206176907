"""The pages of the public API: the names that a package exports, with their docstrings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from manual.reference.markdown import description, signature

_INHERITED = (object, Exception, BaseException, tuple, dict)


def exported(package: str) -> Iterator[tuple[str, Any]]:
    """Yield the names that a package exports, each with its value."""
    module = importlib.import_module(package)
    for name in module.__all__:
        yield name, getattr(module, name)


def members(value: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class that this project defines."""
    seen: set[str] = set()
    for base in value.__mro__:
        if base.__module__.partition(".")[0] not in ("streamlets", "blueprint"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(member, staticmethod | classmethod):
                yield name, member.__func__
            elif inspect.isfunction(member) or isinstance(member, property):
                yield name, member


def api_page(package: str) -> str:
    """Return the page of a package."""
    module = importlib.import_module(package)
    parts = [f"# Package `{package}`\n\n{description(inspect.getdoc(module) or '')}\n"]
    for name, value in exported(package):
        parts.append(f"## `{name}`\n")
        if isinstance(value, ModuleType):
            parts.append(f"{description(inspect.getdoc(value) or '')}\n")
        elif inspect.isclass(value):
            parts.extend(_class(name, value))
        elif callable(value):
            parts.append(f"```python\n{signature(name, value)}\n```\n\n{description(inspect.getdoc(value) or '')}\n")
        else:
            parts.append(f"`{value!r}`\n" if isinstance(value, str | int | tuple) else "A mapping by name.\n")
    return "\n".join(parts)


def _class(name: str, value: type) -> Iterator[str]:
    try:
        text = signature(name, value)
    except (TypeError, ValueError):
        text = name
    yield f"```python\nclass {text}\n```\n\n{description(inspect.getdoc(value) or '')}\n"
    for member, function in sorted(members(value), key=lambda item: item[0]):
        doc = description(inspect.getdoc(function) or "")
        if isinstance(function, property):
            yield f"### `{name}.{member}`\n\n{doc}\n"
        else:
            yield f"### `{name}.{member}()`\n\n```python\n{signature(member, function)}\n```\n\n{doc}\n"
