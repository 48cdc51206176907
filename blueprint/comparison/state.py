"""Compare the state of queries: operators in their order, columns of keys and values, windows.

Spark accepts state if the columns of its keys and values have the same types in the same order, whatever their names.
It then takes a key for another of the same type, a maximum for a minimum, and one window for another. Therefore names
and windows are compared here, too. `state_logic.py` compares what the columns are made of, where that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from blueprint.comparison.descriptor import Columns, DescribedOperator, DescribedQuery, DescribedStore, Type
from blueprint.comparison.stateful_operators import JOIN, SESSION_WINDOWS, stateful_operator
from blueprint.quantities import QuantityError, duration

_NAMED_BY_AUTHORS = (JOIN.name, SESSION_WINDOWS.name)
"""Operators whose values have the author's column names. The columns of others are named by Spark's functions."""


def differences(old: DescribedQuery, new: DescribedQuery) -> Iterator[str]:
    """Yield the reasons why a query cannot continue from the state of an older one, one sentence each.

    Both queries have the same kinds of operators. State that is not known is not compared.
    """
    if old.state is not None and new.state is not None:
        before, now = ([operator.name for operator in query.state or ()] for query in (old, new))
        if before != now:
            yield f"its operators, in Spark's order, were {_order(before)}, and are now {_order(now)}"
            return
        for older, newer in zip(old.state, new.state, strict=True):
            aliases = {**_both_ways(old.aliases), **_both_ways(new.aliases)}
            yield from _operator(older, newer, aliases, named=old.logic is None or new.logic is None)
    if old.windows is not None and new.windows is not None and _equal(old.windows) != _equal(new.windows):
        yield (
            f"it grouped by {window_phrases(old.windows)}, and now groups by {window_phrases(new.windows)}: its state "
            "would have windows of both kinds, all with missing rows"
        )


def _equal(windows: Iterable[str]) -> list[str | float]:
    """Return windows for comparisons: a gap is its length, however it is written."""
    return [next(iter(_lengths(window)), window) if window.startswith("gap ") else window for window in windows]


def window_phrases(windows: Iterable[str]) -> str:
    """Return windows in words: `windows of 10 s every 5 s`."""
    return " and ".join(_window(window) for window in windows) or "no windows"


def determines(value: object, query: DescribedQuery) -> bool:
    """Return whether the value of a parameter is the length, the slide or the gap of a window of a query."""
    try:
        microseconds = duration(str(value)).seconds * 1_000_000
    except QuantityError:
        return False
    return microseconds > 0 and any(microseconds in _lengths(window) for window in query.windows or ())


def _operator(
    old: DescribedOperator, new: DescribedOperator, aliases: Mapping[str, set[str]], *, named: bool
) -> Iterator[str]:
    """Yield the differences of the columns of an operator.

    Arguments:
        named: whether names are compared, too, because it is not known what the columns are made of.
    """
    phrase = stateful_operator(new.name).phrase
    if old.stores is None or new.stores is None:
        return
    if set(old.stores) != set(new.stores):
        yield f"{phrase} had the stores {', '.join(sorted(old.stores))}, and now has {', '.join(sorted(new.stores))}"
        return
    for name in sorted(new.stores):
        yield from _store(phrase, new.name, old.stores[name], new.stores[name], aliases, named=named)


def _store(
    phrase: str, operator: str, old: DescribedStore, new: DescribedStore, aliases: Mapping[str, set[str]], *,
    named: bool,
) -> Iterator[str]:  # fmt: skip
    if not _alike(old.key, new.key):
        yield f"the keys of {phrase} were {_text(old.key)}, and are now {_text(new.key)}"
    elif named:
        for (before, _), (now, _) in zip(old.key, new.key, strict=True):
            if before != now and before not in aliases.get(now, ()):
                yield f"the keys of {phrase} had the column `{before}`, and now have `{now}` in its place"
    renamed = named and [name for name, _ in old.value] != [name for name, _ in new.value]
    if not _alike(old.value, new.value) or (renamed and operator not in _NAMED_BY_AUTHORS):
        yield f"the values of {phrase} were {_text(old.value)}, and are now {_text(new.value)}"


def _alike(old: Columns, new: Columns) -> bool:
    return [_nameless(type) for _, type in old] == [_nameless(type) for _, type in new]


def _nameless(type: object) -> object:
    """Return a type without the field names of its structures."""
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
