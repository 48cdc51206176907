"""Suggestions for misspelt names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable


def near(name: str, candidates: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return the candidates of which `name` may be a misspelling, best first, ties by name.

    A candidate is near if it has at most one edit in three characters (a transposition is one edit), differs only in
    case, `-` and `_`, or if one of the two names is a prefix, of at least three characters, of the other.
    """
    return tuple(candidate for _, candidate, _ in _ranked(name, candidates)[:limit])


def misspelling_of(name: str, candidates: Iterable[str]) -> str | None:
    """Return the only candidate near `name`; None when several are near, or when the names only share a prefix."""
    ranked = _ranked(name, candidates)
    if len(ranked) != 1:
        return None
    _, candidate, is_prefix = ranked[0]
    return None if is_prefix else candidate


def sole_meanings(names: Iterable[str], known: Collection[str], taken: Container[str]) -> dict[str, str]:
    """Return the known name that each misspelt name means, where that is certain.

    It is certain when only one known name is near, which is not taken, and no other misspelt name may mean it.
    """
    meanings = {name: meant for name in names if (meant := misspelling_of(name, known)) is not None}
    claims = Counter(meanings.values())
    return {name: meant for name, meant in meanings.items() if meant not in taken and claims[meant] == 1}


def _ranked(name: str, candidates: Iterable[str]) -> list[tuple[int, str, bool]]:
    """Return each near candidate with its cost, and whether the names only share a prefix; best first."""
    plain = _plain(name)
    ranked = []
    for candidate in set(candidates) - {name}:
        allowed = max(1, (max(len(name), len(candidate)) + 1) // 3)
        other = _plain(candidate)
        if plain == other:
            ranked.append((0, candidate, False))
        elif abs(len(plain) - len(other)) <= allowed and (cost := _edits(plain, other, allowed)) <= allowed:
            ranked.append((cost, candidate, False))
        elif min(len(plain), len(other)) >= 3 and (plain.startswith(other) or other.startswith(plain)):
            ranked.append((allowed + 1, candidate, True))
    return sorted(ranked)


def did_you_mean(name: str, candidates: Iterable[str], *, heard: bool = False) -> tuple[str, ...]:
    """Return help with the nearest candidates, () when none is near.

    Arguments:
        name: the unknown name.
        candidates: the valid names.
        heard: whether names are often known by their sound: if none is near, those that sound alike are.
    """
    candidates = tuple(candidates)
    nearest = near(name, candidates) or (_sounding_like(name, candidates) if heard else ())
    return (f"did you mean {alternatives(nearest)}?",) if nearest else ()


def _sounding_like(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the candidates that begin with the same sound, and differ in at most one further consonant."""
    sound = _sound(name)
    ranked = sorted((_edits(sound, _sound(candidate), 1), candidate) for candidate in candidates)
    return tuple(
        candidate
        for cost, candidate in ranked
        if cost <= 1 and min(len(sound), len(_sound(candidate))) >= 3 and sound[0] == _sound(candidate)[0]
    )


def _sound(name: str) -> str:
    """Return the first letter of a name and its consonants, one letter per sound: `parquet` is `prkt`."""
    for letters, sound in (("qu", "k"), ("ck", "k"), ("ph", "f"), ("c", "k"), ("q", "k"), ("z", "s")):
        name = name.lower().replace(letters, sound)
    consonants = name[:1] + "".join(letter for letter in name[1:] if letter.isalpha() and letter not in "aeiouyhw")
    return "".join(letter for index, letter in enumerate(consonants) if letter != consonants[index - 1 : index])


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a suggestion for an unknown name, as the end of a message.

    Arguments:
        name: the unknown name.
        known: the valid names.
        otherwise: the text to return when no valid name is near; default: a list of the valid names.
    """
    known = tuple(known)
    return " ".join(did_you_mean(name, known)) or otherwise or f"available: {', '.join(known) or 'none'}"


def alternatives(names: Iterable[str]) -> str:
    """Return names as `a`, `b` or `c`, each in back-quotes."""
    return _joined(names, "or")


def listing(names: Iterable[str]) -> str:
    """Return names as `a`, `b` and `c`, each in back-quotes."""
    return _joined(names, "and")


def _joined(names: Iterable[str], word: str) -> str:
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} {word} {last}" if first else last


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _edits(first: str, second: str, limit: int) -> int:
    """Return the optimal string alignment distance, or `limit + 1` as soon as it is known to exceed `limit`."""
    two_above: list[int] = []
    one_above = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        row = [i]
        for j, right in enumerate(second, start=1):
            cost = min(one_above[j] + 1, row[j - 1] + 1, one_above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and first[i - 2] == right:
                cost = min(cost, two_above[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        two_above, one_above = one_above, row
    return one_above[-1]
