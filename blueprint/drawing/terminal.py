"""Rendering of a picture with box-drawing characters: streamlets are boxes, topics are names on the lines."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from blueprint.drawing.layout import Box, Layout, Size, Wire, layout
from blueprint.drawing.packing import packed_layout
from blueprint.drawing.picture import Node, Picture

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_JOINTS = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"  # indexed by the sum of the directions that meet in a cell
_JOINTS_ASCII = " |||-+++-+++-+++"


@dataclass(frozen=True, slots=True)
class _Pen:
    joints: str
    down: str
    up: str
    corners: str
    across: str
    along: str
    faulty_across: str
    faulty_along: str


_UNICODE = _Pen(_JOINTS, "▼", "▲", "┌┐└┘", "─", "│", "┄", "┆")
_ASCII = _Pen(_JOINTS_ASCII, "v", "^", "++++", "-", "|", "=", "!")


def columns_of(text: str) -> int:
    """Return how many terminal columns a string occupies: wide characters two, combining characters none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def terminal(picture: Picture, *, width: int | None = None, ascii_only: bool = False) -> str:
    """Return a picture as text, one line per row, without trailing blanks.

    Where lines cross, the vertical line is drawn on top; a joint means that a line branches.

    Arguments:
        picture: what to draw.
        width: available columns, None for no limit. Parts that are not connected are in rows then, and a drawing that
            is still wider is replaced by an outline.
        ascii_only: use `-`, `|` and `+` instead of box-drawing characters.
    """
    if not picture.nodes:
        return "nothing to draw: the application has no streamlets and no topics"
    sizes = {node.id: _size(node) for node in picture.nodes}
    plan = layout(sizes, *picture.lines) if width is None else packed_layout(sizes, *picture.lines, widest=width)
    if width is not None and plan.width > width:
        return f"{_outline(picture)}\n\n(the drawing needs {plan.width} columns, the terminal has {width})"
    return _draw(picture, plan, _ASCII if ascii_only else _UNICODE)


def _draw(picture: Picture, plan: Layout, pen: _Pen) -> str:
    cells = [[" "] * plan.width for _ in range(plan.height)]
    nodes = {node.id: node for node in picture.nodes}
    _draw_wires(cells, plan, nodes, pen)
    for node in picture.nodes:
        _draw_node(cells, plan, node, pen)
    _draw_exits(cells, plan, nodes, pen)
    return "\n".join("".join(row).rstrip() for row in cells).rstrip()


def _draw_wires(cells: list[list[str]], plan: Layout, nodes: dict[str, Node], pen: _Pen) -> None:
    drawn: dict[tuple[int, int], int] = {}
    for wire in plan.wires:
        for spot, joint in _joints(wire).items():
            drawn[spot] = (_UP | _DOWN) if spot in drawn else joint
    for (x, y), joint in drawn.items():
        cells[y][x] = pen.joints[joint]
    for wire in plan.wires:
        for tip in wire.tips:
            if tip.upward or nodes[tip.node].kind == "streamlet":
                cells[tip.y][tip.x] = pen.up if tip.upward else pen.down


def _joints(wire: Wire) -> dict[tuple[int, int], int]:
    """Return the directions in which a wire continues, by cell."""
    joints: dict[tuple[int, int], int] = {}
    for line in wire.lines:
        for x in range(line.x1, line.x2 + 1):
            for y in range(line.y1, line.y2 + 1):
                onwards = (_LEFT if x > line.x1 else 0) | (_RIGHT if x < line.x2 else 0)
                onwards |= (_UP if y > line.y1 else 0) | (_DOWN if y < line.y2 else 0)
                joints[x, y] = joints.get((x, y), 0) | onwards
    return joints


def _size(node: Node) -> Size:
    width = columns_of(node.name)
    return Size(width + 4, 3, frame=2) if node.kind == "streamlet" else Size(width, 1)


def _draw_frame(cells: list[list[str]], box: Box, node: Node, pen: _Pen) -> None:
    """Draw the frame of a streamlet."""
    across, along = (pen.faulty_across, pen.faulty_along) if node.faulty else (pen.across, pen.along)
    for x in range(box.x + 1, box.x + box.width - 1):
        cells[box.y][x] = cells[box.y + 2][x] = across
        cells[box.y + 1][x] = " "
    cells[box.y + 1][box.x] = cells[box.y + 1][box.x + box.width - 1] = along
    for (x, y), corner in zip(((0, 0), (box.width - 1, 0), (0, 2), (box.width - 1, 2)), pen.corners, strict=True):
        cells[box.y + y][box.x + x] = corner


def _draw_node(cells: list[list[str]], plan: Layout, node: Node, pen: _Pen) -> None:
    box = plan.boxes[node.id]
    size = columns_of(node.name)
    start = box.x + (box.width - size) // 2
    if node.kind == "streamlet":
        _draw_frame(cells, box, node, pen)
    else:
        _draw_arms(cells[box.y], box, range(start, start + size), pen)
    _write(cells[box.y + box.height // 2], start, node.name)


def _draw_arms(row: list[str], box: Box, name: range, pen: _Pen) -> None:
    """Connect the lines that dock next to a topic's name with the name."""
    for side, inwards in ((range(box.x, name.start), _RIGHT), (range(box.x + box.width - 1, name.stop - 1, -1), _LEFT)):
        reached = 0
        for x in side:
            joint = pen.joints.rindex(row[x]) if row[x] != " " else 0
            row[x] = pen.joints[joint | inwards | reached] if joint or reached else " "
            reached = (_LEFT | _RIGHT) & ~inwards if joint or reached else 0


def _write(row: list[str], x: int, text: str) -> None:
    """Write `text` into the row; a wide character empties the cell after it."""
    for character in text:
        size = columns_of(character)
        if size == 0:
            row[x - 1] += character
            continue
        row[x] = character
        for empty in range(x + 1, x + size):
            row[empty] = ""
        x += size


def _draw_exits(cells: list[list[str]], plan: Layout, nodes: dict[str, Node], pen: _Pen) -> None:
    """Draw joints in the frames where lines leave streamlets."""
    for wire in plan.wires:
        if nodes[wire.source].kind != "streamlet":
            continue
        box = plan.boxes[wire.source]
        rim, outwards = (box.y, _UP) if wire.upward else (box.y + box.height - 1, _DOWN)
        for line in wire.lines:
            end = line.y2 if wire.upward else line.y1
            if line.x1 == line.x2 and end == rim and box.x < line.x1 < box.x + box.width:
                cells[rim][line.x1] = pen.joints[_LEFT | _RIGHT | outwards]


def _outline(picture: Picture) -> str:
    """Return the picture as an outline: the topics that each streamlet writes, and their readers."""
    names = {node.id: node.name for node in picture.nodes}
    below: dict[str, dict[str, None]] = {node.id: {} for node in picture.nodes}
    for edge in picture.edges:
        below[edge.source][edge.target] = None
    fed = {edge.target for edge in picture.edges}

    def read(topic: str) -> str:
        return f"{names[topic]} > {', '.join(names[reader] for reader in below[topic]) or '(nobody)'}"

    lines: list[str] = []
    for node in picture.nodes:
        if node.kind == "streamlet":
            lines += [node.name, *(f"  > {read(topic)}" for topic in below[node.id])]
        elif node.id not in fed:
            lines.append(read(node.id))
    return "\n".join(lines)
