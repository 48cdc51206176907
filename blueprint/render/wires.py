"""The ways of the lines between two rows: which horizontal track each takes, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Strand:
    """One net between two rows: it comes down in column `top` and goes on down in the columns `bottoms`."""

    net: str
    top: int
    bottoms: tuple[int, ...]

    @property
    def straight(self) -> bool:
        """Whether it needs no horizontal part."""
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
    """Give every strand a track; says how many tracks there are.

    Two strands share a track only when their horizontal parts do not touch, and no vertical part covers another: the
    strand that comes down in a column lies above the one that goes on down in it. Where two strands would each have
    to lie above the other, one of them turns aside on its way (it is returned in two parts).
    """
    straight = [Routed(strand, None) for strand in strands if strand.straight]
    bent = [strand for strand in strands if not strand.straight]
    taken = {
        column for strand in (*bent, *(each.strand for each in straight)) for column in (strand.top, *strand.bottoms)
    }
    while (knot := _knot(bent)) is not None:
        bent.remove(knot)
        free = max(taken) + 2
        taken.add(free)
        bent += [Strand(knot.net, knot.top, (free,)), Strand(knot.net, free, knot.bottoms)]
    order = _order(bent)
    tracks: list[tuple[Strand, int]] = []
    for strand in order:
        track = 0
        for other, taken_track in tracks:
            if _must_lie_above(other, strand) or _touch(other, strand):
                track = max(track, taken_track + 1)
        tracks.append((strand, track))
    routed = [Routed(strand, track) for strand, track in tracks]
    return (*straight, *routed), max((track + 1 for _, track in tracks), default=0)


def _must_lie_above(one: Strand, other: Strand) -> bool:
    """Whether `one` comes down in a column in which `other` goes on down, or `other` is where `one` goes on."""
    if one.net == other.net:
        return one.bottoms == (other.top,)
    return one.top in other.bottoms


def _touch(one: Strand, other: Strand) -> bool:
    (left, right), (other_left, other_right) = one.ends, other.ends
    return left <= other_right and other_left <= right


def _knot(strands: Sequence[Strand]) -> Strand | None:
    """A strand of a circle in which each must lie above the next; None when there is no circle."""
    left = list(strands)
    while left:
        tied = [each for each in left if any(_must_lie_above(other, each) for other in left)]
        if len(tied) == len(left):
            here, seen = left[0], list[Strand]()
            while here not in seen:
                seen.append(here)
                here = next(other for other in left if _must_lie_above(other, here))
            return here
        left = tied
    return None


def _crossings(upper: Strand, lower: Strand) -> int:
    """How often two strands cross when one lies above the other."""
    left, right = upper.ends
    lower_left, lower_right = lower.ends
    return (left <= lower.top <= right) + sum(lower_left <= column <= lower_right for column in upper.bottoms)


def _order(strands: Sequence[Strand]) -> list[Strand]:
    """From top to bottom: what must lie above first, then whatever crosses less that way."""
    left = sorted(strands, key=lambda each: (each.ends, each.top, each.bottoms))
    ordered: list[Strand] = []
    while left:
        free = [each for each in left if not any(_must_lie_above(other, each) for other in left)]
        best = min(free, key=lambda each: sum(_crossings(each, o) - _crossings(o, each) for o in left if o is not each))
        ordered.append(best)
        left.remove(best)
    return ordered
