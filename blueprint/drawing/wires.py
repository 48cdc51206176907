"""Routing of the lines between two rows: the horizontal track of each line, so that lines do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Strand:
    """A net between two rows: it arrives from above in column `top` and continues down in the columns `bottoms`."""

    net: str
    top: int
    bottoms: tuple[int, ...]

    @property
    def straight(self) -> bool:
        """Whether it has no horizontal part."""
        return self.bottoms == (self.top,)

    @property
    def ends(self) -> tuple[int, int]:
        """The leftmost and the rightmost column of its horizontal part."""
        return min(self.top, *self.bottoms), max(self.top, *self.bottoms)


@dataclass(frozen=True, slots=True)
class Routed:
    """A strand with its track (from 0 downwards); None when it is straight."""

    strand: Strand
    track: int | None


def route(strands: Sequence[Strand]) -> tuple[tuple[Routed, ...], int]:
    """Assign a track to every strand.

    Strands share a track only if their horizontal parts do not touch. Vertical parts must not overlap: the strand that
    arrives in a column is above the strand that continues down in it. If strands would have to be above each other in a
    cycle, one of them is split into two parts at an unused column.

    Returns:
        The strands with their tracks, and the number of tracks.
    """
    straight = [Routed(strand, None) for strand in strands if strand.straight]
    bent = [strand for strand in strands if not strand.straight]
    taken = {
        column for strand in (*bent, *(route.strand for route in straight)) for column in (strand.top, *strand.bottoms)
    }
    while (strand := _in_cycle(bent)) is not None:
        bent.remove(strand)
        free = max(taken) + 2
        taken.add(free)
        bent += [Strand(strand.net, strand.top, (free,)), Strand(strand.net, free, strand.bottoms)]
    order = _order(bent)
    tracks: list[tuple[Strand, int]] = []
    for strand in order:
        track = 0
        for other, taken_track in tracks:
            if _must_be_above(other, strand) or _touch(other, strand):
                track = max(track, taken_track + 1)
        tracks.append((strand, track))
    routed = [Routed(strand, track) for strand, track in tracks]
    return (*straight, *routed), max((track + 1 for _, track in tracks), default=0)


def _must_be_above(upper: Strand, lower: Strand) -> bool:
    """Return whether `upper` arrives in a column where `lower` continues down, or `lower` continues `upper`."""
    if upper.net == lower.net:
        return upper.bottoms == (lower.top,)
    return upper.top in lower.bottoms


def _touch(strand: Strand, other: Strand) -> bool:
    (left, right), (other_left, other_right) = strand.ends, other.ends
    return left <= other_right and other_left <= right


def _in_cycle(strands: Sequence[Strand]) -> Strand | None:
    """Return a strand of a cycle in which each must be above the next; None if there is no cycle."""
    remaining = list(strands)
    while remaining:
        blocked = [strand for strand in remaining if any(_must_be_above(other, strand) for other in remaining)]
        if len(blocked) == len(remaining):
            here, seen = remaining[0], list[Strand]()
            while here not in seen:
                seen.append(here)
                here = next(other for other in remaining if _must_be_above(other, here))
            return here
        remaining = blocked
    return None


def _crossings(upper: Strand, lower: Strand) -> int:
    """Return how often two strands cross if one is above the other."""
    left, right = upper.ends
    lower_left, lower_right = lower.ends
    return (left <= lower.top <= right) + sum(lower_left <= column <= lower_right for column in upper.bottoms)


def _order(strands: Sequence[Strand]) -> list[Strand]:
    """Return the strands from top to bottom, as they must be, and otherwise with few crossings."""
    remaining = sorted(strands, key=lambda strand: (strand.ends, strand.top, strand.bottoms))
    ordered: list[Strand] = []
    while remaining:
        free = [strand for strand in remaining if not any(_must_be_above(other, strand) for other in remaining)]
        best = min(free, key=lambda s: sum(_crossings(s, o) - _crossings(o, s) for o in remaining if o is not s))
        ordered.append(best)
        remaining.remove(best)
    return ordered
