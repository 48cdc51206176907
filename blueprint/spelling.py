"""Near names: what a misspelt name was most probably meant to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable


def near(name: str, candidates: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The candidates that `name` may be a misspelling of, best first, ties by name.

    Near is: at most one edit in three characters (a transposition is one edit), the same but for case, `-` and
    `_`, or one the beginning of the other (three characters at least).
    """
    return tuple(candidate for _, candidate, _ in _ranked(name, candidates)[:limit])


def misspelling_of(name: str, candidates: Iterable[str]) -> str | None:
    """The only candidate near to `name`; None when several are, or when only the beginnings are the same."""
    ranked = _ranked(name, candidates)
    if len(ranked) != 1:
        return None
    _, candidate, beginning = ranked[0]
    return None if beginning else candidate


def sole_meanings(names: Iterable[str], known: Collection[str], taken: Container[str]) -> dict[str, str]:
    """What each name is the misspelling of, where only that is near, it is not taken, and no other name may mean it."""
    meanings = {name: meant for name in names if (meant := misspelling_of(name, known)) is not None}
    claims = Counter(meanings.values())
    return {name: meant for name, meant in meanings.items() if meant not in taken and claims[meant] == 1}


def _ranked(name: str, candidates: Iterable[str]) -> list[tuple[int, str, bool]]:
    """Each near candidate with its cost, and whether only the beginnings are the same; best first."""
    plain = _plain(name)
    found = []
    for candidate in set(candidates) - {name}:
        allowed = max(1, (max(len(name), len(candidate)) + 1) // 3)
        other = _plain(candidate)
        if plain == other:
            found.append((0, candidate, False))
        elif abs(len(plain) - len(other)) <= allowed and (cost := _edits(plain, other, allowed)) <= allowed:
            found.append((cost, candidate, False))
        elif min(len(plain), len(other)) >= 3 and (plain.startswith(other) or other.startswith(plain)):
            found.append((allowed + 1, candidate, True))
    return sorted(found)


def did_you_mean(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """A help line with the nearest candidates, () when none is near."""
    found = near(name, candidates)
    return (f"did you mean {alternatives(found)}?",) if found else ()


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What a name was meant to be, as the end of a message: the nearest of those that are known; where none is near,
    what is said otherwise, and if nothing is, all of them."""
    known = tuple(known)
    return " ".join(did_you_mean(name, known)) or otherwise or f"there are: {', '.join(known) or 'none'}"


def alternatives(names: Iterable[str]) -> str:
    """`a`, `b` or `c`, each in back-quotes."""
    return _joined(names, "or")


def listing(names: Iterable[str]) -> str:
    """`a`, `b` and `c`, each in back-quotes."""
    return _joined(names, "and")


def _joined(names: Iterable[str], word: str) -> str:
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} {word} {last}" if first else last


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _edits(one: str, two: str, most: int) -> int:
    """Optimal string alignment distance; `most + 1` as soon as it is known to be more than `most`."""
    before: list[int] = []
    above = list(range(len(two) + 1))
    for i, left in enumerate(one, start=1):
        row = [i]
        for j, right in enumerate(two, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, above = above, row
    return above[-1]
