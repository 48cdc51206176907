"""Few combinations that have each value of many settings, for the gate: each value meets values of other settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def together(settings: Iterable[Mapping[str, T]]) -> list[dict[str, T]]:
    """Return as few dictionaries as have all settings, of which one has two values only in different ones."""
    found: list[dict[str, T]] = []
    for some in settings:
        free = (other for other in found if all(other.get(name, value) == value for name, value in some.items()))
        target = next(free, None)
        if target is None:
            found.append(target := {})
        target |= some
    return found
