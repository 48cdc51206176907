"""The time windows by which a query groups rows, and the names of its columns, read from its analyzed plan."""

from __future__ import annotations

import re

from streamlets.spark.plan_tree import PlanNode

# Spark resolves `window` to arithmetic on microseconds, and `session_window` to an interval added to the time.
_WINDOW = "named_struct(start, knownnullable(precisetimestampconversion("
_START_AND_SLIDE = re.compile(r"LongType\) - (?P<start>-?\d+)\) % (?P<slide>\d+)\)")
_LENGTH = re.compile(r"END\) - -?\d+\) \+ (?P<length>\d+)\), LongType, TimestampType")
_GAP = re.compile(r" \+ cast\((?P<gap>.+?) as interval\) as timestamp\)")
_IDS = re.compile(r"#\d+L?(?:-T\d+ms)?")
_ALIAS = re.compile(r"(?P<name>\w+)#(?P<id>\d+)L?(?:-T\d+ms)? AS (?P<alias>\w+)#(?P<own>\d+)")


def windows(plan: PlanNode) -> tuple[str, ...]:
    """Return the windows of a plan in the form of `DescribedQuery.windows`, sorted."""
    names: set[str] = set()
    for node in plan.all():
        if node.name in ("Project", "Expand") and node.streaming:
            names |= _windows(node.rest)
    return tuple(sorted(names))


def _windows(text: str) -> set[str]:
    names = set()
    if _WINDOW in text:
        lengths = {match["length"] for match in _LENGTH.finditer(text)}
        pairs = {(match["slide"], match["start"]) for match in _START_AND_SLIDE.finditer(text)}
        names |= {f"window {length} {slide} {start}" for length in lengths for slide, start in pairs}
    if "AS session_window#" in text:
        names |= {f"gap {_IDS.sub('', match['gap'])}" for match in _GAP.finditer(text)}
    return names


def aliases(plan: PlanNode) -> dict[str, tuple[str, ...]]:
    """Return the other names of columns that a plan only renames, by their last name."""
    names: dict[str, str] = {}
    sources: dict[str, str] = {}
    for node in plan.all():
        for match in _ALIAS.finditer(node.rest):
            names[match["id"]], names[match["own"]] = match["name"], match["alias"]
            sources[match["own"]] = match["id"]
    others: dict[str, set[str]] = {}
    for own, source in sources.items():
        seen = {own}
        at: str | None = source
        while at is not None and at not in seen:
            seen.add(at)
            if names[at] != names[own]:
                others.setdefault(names[own], set()).add(names[at])
            at = sources.get(at)
    return {name: tuple(sorted(earlier)) for name, earlier in sorted(others.items())}
