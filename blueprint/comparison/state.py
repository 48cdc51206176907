"""Whether a query can go on from the state of another: operators in their order, columns of keys and values, windows.

Spark carries state over when the columns of its keys and values have the same types in the same order, whatever their
names are. It then takes a key for another of the same type, a maximum for a minimum, and one window for another. So
names and windows are compared here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from blueprint.comparison.descriptor import Columns, DescribedOperator, DescribedQuery, DescribedStore, Type
from blueprint.comparison.stateful_operators import JOIN, SESSION_WINDOWS, stateful_operator
from blueprint.quantities import QuantityError, duration

_NAMED_BY_AUTHORS = (JOIN.name, SESSION_WINDOWS.name)
"""Operators whose values are rows with the author's names; of the others they are named by Spark's functions."""


def differences(old: DescribedQuery, new: DescribedQuery) -> Iterator[str]:
    """Yield why a query with the same kinds of operators cannot go on from the state of an older one, a sentence each;
    nothing where one of them is not known."""
    if old.state is not None and new.state is not None:
        before, now = ([operator.name for operator in query.state or ()] for query in (old, new))
        if before != now:
            yield f"its operators were {_order(before)}, and are {_order(now)} now, in Spark's order"
            return
        for one, other in zip(old.state, new.state, strict=True):
            yield from _operator(one, other, {**_both_ways(old.aliases), **_both_ways(new.aliases)})
    if old.windows is not None and new.windows is not None and old.windows != new.windows:
        yield (
            f"it grouped by {window_phrases(old.windows)}, and groups by {window_phrases(new.windows)} now: the former "
            "stay in state beside the latter, and both lack rows"
        )


def window_phrases(windows: Iterable[str]) -> str:
    """Return what windows are to a reader: `windows of 10 s every 5 s`."""
    return " and ".join(_window(window) for window in windows) or "no windows"


def determines(value: object, query: DescribedQuery) -> bool:
    """Return whether the value of a parameter is the length, the slide or the gap of a window of a query."""
    try:
        microseconds = duration(str(value)).seconds * 1_000_000
    except QuantityError:
        return False
    return microseconds > 0 and any(microseconds in _lengths(window) for window in query.windows or ())


def _operator(old: DescribedOperator, new: DescribedOperator, aliases: Mapping[str, set[str]]) -> Iterator[str]:
    what = stateful_operator(new.name).phrase
    if old.stores is None or new.stores is None:
        return
    if set(old.stores) != set(new.stores):
        yield f"{what} kept {', '.join(sorted(old.stores))}, and keeps {', '.join(sorted(new.stores))} now"
        return
    for name in sorted(new.stores):
        yield from _store(what, new.name, old.stores[name], new.stores[name], aliases)


def _store(
    what: str, operator: str, old: DescribedStore, new: DescribedStore, aliases: Mapping[str, set[str]]
) -> Iterator[str]:
    if not _alike(old.key, new.key):
        yield f"the keys of {what} were {_text(old.key)}, and are {_text(new.key)} now"
    else:
        for (before, _), (now, _) in zip(old.key, new.key, strict=True):
            if before != now and before not in aliases.get(now, ()):
                yield f"the keys of {what} had `{before}`, and have another column, `{now}`, in its place now"
    if not _alike(old.value, new.value):
        yield f"the values of {what} were {_text(old.value)}, and are {_text(new.value)} now"
    elif operator not in _NAMED_BY_AUTHORS and [name for name, _ in old.value] != [name for name, _ in new.value]:
        yield f"the values of {what} were of {_text(old.value)}, and are of {_text(new.value)} now"


def _alike(old: Columns, new: Columns) -> bool:
    return [_nameless(type) for _, type in old] == [_nameless(type) for _, type in new]


def _nameless(type: object) -> object:
    """Return a type without the names of the fields of its structures."""
    match type:
        case {"struct": [*fields]}:
            return ["struct", *(_nameless(field[1]) for field in fields if isinstance(field, list))]
        case {"array": inner}:
            return ["array", _nameless(inner)]
        case {"map": [key, value]}:
            return ["map", _nameless(key), _nameless(value)]
    return type


def _text(columns: Columns) -> str:
    return "`" + ", ".join(f"{name} {_type(type)}" for name, type in columns) + "`" if columns else "nothing"


def _type(type: Type | object) -> str:
    match type:
        case {"struct": [*fields]}:
            return f"struct<{', '.join(f'{f[0]} {_type(f[1])}' for f in fields if isinstance(f, list))}>"
        case {"array": inner}:
            return f"array<{_type(inner)}>"
        case {"map": [key, value]}:
            return f"map<{_type(key)}, {_type(value)}>"
    return str(type)


def _order(operators: list[str]) -> str:
    return ", then ".join(stateful_operator(name).phrase for name in operators) or "none"


def _both_ways(aliases: Mapping[str, tuple[str, ...]]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for name, others in aliases.items():
        for other in others:
            known.setdefault(name, set()).add(other)
            known.setdefault(other, set()).add(name)
    return known


def _lengths(window: str) -> set[float]:
    """Return the length and the slide of a window, or the gap of a session, in microseconds."""
    kind, _, rest = window.partition(" ")
    if kind == "gap":
        try:
            return {duration(rest).seconds * 1_000_000}
        except QuantityError:
            return set()
    return {float(part) for part in rest.split()[:2] if part.isdigit()}


def _window(window: str) -> str:
    kind, _, rest = window.partition(" ")
    parts = rest.split()
    if kind == "gap" or len(parts) != 3 or not all(part.isdigit() for part in parts):
        return f"sessions with a gap of {rest}"
    length, slide, start = (f"{int(part) / 1_000_000:g} s" for part in parts)
    return (
        f"windows of {length}"
        + (f" every {slide}" if slide != length else "")
        + (f" from {start} on" if start != "0 s" else "")
    )
