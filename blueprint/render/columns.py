"""Layers, second part: the column of every node and bend, so that lines run straight where they can."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blueprint.render.ranks import Layers, Link

_ROUNDS = 10
_BETWEEN = 3  # free columns between two nodes
_BESIDE_BENDS = 1  # free columns beside a line that passes by
_STRAIGHT = 8.0  # how much more a bend wants its line straight than a node does


@dataclass(frozen=True, slots=True)
class Docks:
    """Where links touch their nodes, as distances from the node's column: by (net, node) below, by link above."""

    below: Mapping[tuple[str, str], int]
    above: Mapping[Link, int]
    widths: Mapping[str, int]  # columns a node needs for its docks


def docks(layers: Layers) -> Docks:
    """Give every link a column of its own at its lower end, and every net one at its upper end."""
    place = {node: index for row in layers.rows for index, node in enumerate(row)}
    entering: dict[str, list[Link]] = {}
    leaving: dict[str, dict[str, list[int]]] = {}
    for link in layers.links:
        entering.setdefault(link.lower, []).append(link)
        leaving.setdefault(link.upper, {}).setdefault(link.net, []).append(place[link.lower])
    above: dict[Link, int] = {}
    below: dict[tuple[str, str], int] = {}
    for links in entering.values():
        for index, link in enumerate(sorted(links, key=lambda link: place[link.upper])):
            above[link] = 2 * index - (len(links) - 1)
    for node, nets in leaving.items():
        for index, net in enumerate(sorted(nets, key=lambda net: sum(nets[net]) / len(nets[net]))):
            below[net, node] = 2 * index - (len(nets) - 1)
    most = {node: max(len(entering.get(node, ())), len(leaving.get(node, ()))) for node in place}
    widths = {node: 2 * count - 1 for node, count in most.items()}
    return Docks(below, above, widths)


def columns(layers: Layers, sides: Docks, widths: Mapping[str, int]) -> dict[str, int]:
    """The middle column of every node and bend; a node of width w reaches from `w // 2` left of it.

    The order within rows is kept, with room between neighbours; each sweep moves a row as near to straight lines as
    that permits (least squares).
    """
    upward: dict[str, list[tuple[str, int]]] = {}
    downward: dict[str, list[tuple[str, int]]] = {}
    for link in layers.links:
        slant = sides.below[link.net, link.upper] - sides.above[link]
        upward.setdefault(link.lower, []).append((link.upper, slant))
        downward.setdefault(link.upper, []).append((link.lower, -slant))
    at: dict[str, int] = {}
    for row in layers.rows:
        _place(row, dict.fromkeys(row, (0.0, 1.0)), widths, layers.bends, at)
    for turn in range(2 * _ROUNDS + 1):
        near, rows = (upward, layers.rows) if turn % 2 == 0 else (downward, layers.rows[::-1])
        for row in rows:
            wishes = {node: _wish(node, near, at, layers.bends) for node in row}
            _place(row, wishes, widths, layers.bends, at)
    left = min((at[node] - widths[node] // 2 for node in at), default=0)
    return {node: column - left for node, column in at.items()}


def _wish(
    node: str, near: Mapping[str, list[tuple[str, int]]], at: Mapping[str, int], bends: frozenset[str]
) -> tuple[float, float]:
    """Where a node would like to stand, and how much."""
    wishes = [at[other] + slant for other, slant in near.get(node, ())]
    if not wishes:
        return float(at[node]), 0.01
    return sum(wishes) / len(wishes), len(wishes) * (_STRAIGHT if node in bends else 1.0)


def _place(
    row: Sequence[str],
    wishes: Mapping[str, tuple[float, float]],
    widths: Mapping[str, int],
    bends: frozenset[str],
    at: dict[str, int],
) -> None:
    """Set the columns of one row: the nearest to the wishes that keeps the order (pool adjacent violators)."""
    offsets: list[int] = []
    for index, node in enumerate(row):
        if index == 0:
            offsets.append(0)
            continue
        before = row[index - 1]
        free = _BESIDE_BENDS if node in bends or before in bends else _BETWEEN
        offsets.append(offsets[-1] + (widths[before] - 1 - widths[before] // 2) + free + 1 + widths[node] // 2)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, nodes
    for node, offset in zip(row, offsets, strict=True):
        wish, weight = wishes[node]
        block = (wish - offset, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, before_weight, size = blocks.pop()
            total = before_weight + block[1]
            block = ((mean * before_weight + block[0] * block[1]) / total, total, size + block[2])
        blocks.append(block)
    means = [mean for mean, _, size in blocks for _ in range(size)]
    for node, offset, mean in zip(row, offsets, means, strict=True):
        at[node] = math.floor(mean + 0.5) + offset
