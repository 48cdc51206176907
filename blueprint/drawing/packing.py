"""Parts of a graph that are not connected, side by side in rows, instead of all in one row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from blueprint.drawing.layout import Box, Layout, Line, Size, Tip, Wire, layout

_GAP = 2
"""The cells between two parts."""


def packed_layout(
    sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]], back: Collection[tuple[str, str]] = (),
    *, widest: int,
) -> Layout:  # fmt: skip
    """Lay out a graph like `layout`; a drawing that becomes too wide has its parts in rows.

    Arguments:
        sizes: the nodes by id, in their preferred order.
        edges: pairs of ids.
        back: the edges that point up.
        widest: the width in cells that a row of parts does not exceed; a part of more cells has a row of its own.
    """
    whole = layout(sizes, edges, back)
    parts = _parts(sizes, edges)
    if whole.width <= widest or len(parts) == 1:
        return whole
    drawings = [layout(part, [edge for edge in edges if edge[0] in part], back) for part in parts]
    boxes: dict[str, Box] = {}
    wires: list[Wire] = []
    left = top = width = bottom = 0
    for drawing in drawings:
        if left and left + drawing.width > widest:
            left, top = 0, bottom + _GAP
        boxes |= {node: replace(box, x=box.x + left, y=box.y + top) for node, box in drawing.boxes.items()}
        wires += [_moved(wire, left, top) for wire in drawing.wires]
        width, bottom = max(width, left + drawing.width), max(bottom, top + drawing.height)
        left += drawing.width + _GAP
    return Layout(width, bottom, boxes, tuple(wires))


def _parts(sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]]) -> list[dict[str, Size]]:
    """Return the connected parts of a graph, in the order of their first nodes."""
    joined: dict[str, list[str]] = {node: [] for node in sizes}
    for source, target in edges:
        joined[source].append(target)
        joined[target].append(source)
    part_of: dict[str, int] = {}
    numbers = count()
    for first in sizes:
        if first in part_of:
            continue
        number, waiting = next(numbers), [first]
        while waiting:
            node = waiting.pop()
            if node not in part_of:
                part_of[node] = number
                waiting += joined[node]
    parts: dict[int, dict[str, Size]] = {}
    for node, size in sizes.items():
        parts.setdefault(part_of[node], {})[node] = size
    return list(parts.values())


def _moved(wire: Wire, x: int, y: int) -> Wire:
    lines = [Line(line.x1 + x, line.y1 + y, line.x2 + x, line.y2 + y) for line in wire.lines]
    tips = [Tip(tip.x + x, tip.y + y, tip.node, tip.upward) for tip in wire.tips]
    return Wire(wire.source, wire.upward, lines, tips)
