"""Layered layout, second part: the columns of nodes and bends, chosen to keep lines as straight as possible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blueprint.drawing.ranks import Layers, Link

_ROUNDS = 10
_BETWEEN = 3  # free columns between two nodes
_BESIDE_BENDS = 1  # free columns next to a line that passes through the row
_STRAIGHT = 8.0  # weight of a straight line at a bend, relative to a node


@dataclass(frozen=True, slots=True)
class Docks:
    """Where links touch their nodes, as distances from the node's column.

    Arguments:
        below: docks at the lower side of nodes, by net and node.
        above: docks at the upper side of nodes, by link.
        widths: the columns that a node needs for its docks.
    """

    below: Mapping[tuple[str, str], int]
    above: Mapping[Link, int]
    widths: Mapping[str, int]


def docks(layers: Layers) -> Docks:
    """Assign a separate column to the lower end of every link, and to the upper end of every net."""
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
    """Return the middle column of every node and bend; a node of width w starts `w // 2` columns to the left of it.

    The order within rows is kept, with space between neighbours. Each sweep moves the nodes of a row as close to
    straight lines as possible (least squares).

    Arguments:
        layers: the rows and links.
        sides: where links touch their nodes.
        widths: the width of every node and bend.
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
            targets = {node: _target(node, near, at, layers.bends) for node in row}
            _place(row, targets, widths, layers.bends, at)
    left = min((at[node] - widths[node] // 2 for node in at), default=0)
    return {node: column - left for node, column in at.items()}


def _target(
    node: str, near: Mapping[str, list[tuple[str, int]]], at: Mapping[str, int], bends: frozenset[str]
) -> tuple[float, float]:
    """Return the column that makes the lines of a node straightest, and its weight."""
    columns = [at[other] + slant for other, slant in near.get(node, ())]
    if not columns:
        return float(at[node]), 0.01
    return sum(columns) / len(columns), len(columns) * (_STRAIGHT if node in bends else 1.0)


def _place(
    row: Sequence[str],
    targets: Mapping[str, tuple[float, float]],
    widths: Mapping[str, int],
    bends: frozenset[str],
    at: dict[str, int],
) -> None:
    """Set the columns of a row as close to the targets as the order permits (pool adjacent violators)."""
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
        target, weight = targets[node]
        block = (target - offset, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, before_weight, size = blocks.pop()
            total = before_weight + block[1]
            block = ((mean * before_weight + block[0] * block[1]) / total, total, size + block[2])
        blocks.append(block)
    means = [mean for mean, _, size in blocks for _ in range(size)]
    for node, offset, mean in zip(row, offsets, means, strict=True):
        at[node] = math.floor(mean + 0.5) + offset
