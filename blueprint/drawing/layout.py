"""The layout of all drawings: boxes and orthogonal lines on a grid of character cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from blueprint.drawing.columns import columns, docks
from blueprint.drawing.ranks import Layers, Link, layers
from blueprint.drawing.wires import Strand, route


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a node, in cells; `frame` is the number of columns of its width where lines cannot dock."""

    width: int
    height: int
    frame: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """The position of a node: its upper left cell and its size."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal or vertical line of cells, both ends included; x1 <= x2 and y1 <= y2."""

    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True, slots=True)
class Tip:
    """The last cell of a line, next to the node that it enters."""

    x: int
    y: int
    node: str
    upward: bool


@dataclass(slots=True)
class Wire:
    """A line with all its branches, from a node to its successors. Different wires may cross, but never overlap.

    Arguments:
        source: the node where it starts.
        upward: whether it points up, like one edge of a cycle.
        lines: its segments; they end in the frames of the boxes that they connect.
        tips: where it enters nodes.
    """

    source: str
    upward: bool
    lines: list[Line] = field(default_factory=list)
    tips: list[Tip] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Layout:
    """A finished drawing."""

    width: int
    height: int
    boxes: Mapping[str, Box]
    wires: tuple[Wire, ...]


def layout(
    sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]], back: Collection[tuple[str, str]] = ()
) -> Layout:
    """Lay out a graph from top to bottom.

    Arguments:
        sizes: the nodes by id, in their preferred order; boxes become wider where many lines dock.
        edges: pairs of ids; an edge connects two different nodes.
        back: the edges that point up, because they close a cycle; others do so where cycles remain.
    """
    return _Drawing(sizes, layers(list(sizes), edges, back)).draw()


class _Drawing:
    """Creates one layout: rows from top to bottom, and the lines between them."""

    def __init__(self, sizes: Mapping[str, Size], arranged: Layers) -> None:
        self._layers = arranged
        self._docks = docks(arranged)
        self._sizes = {
            node: Size(max(sizes[node].width, self._docks.widths[node] + sizes[node].frame), sizes[node].height)
            for row in arranged.rows
            for node in row
            if node not in arranged.bends
        }
        widths = {node: self._sizes[node].width if node in self._sizes else 1 for row in arranged.rows for node in row}
        self._columns = columns(arranged, self._docks, widths)
        self._boxes: dict[str, Box] = {}
        self._wires: dict[str, Wire] = {}

    def draw(self) -> Layout:
        links: list[list[Link]] = [[] for _ in self._layers.rows]
        row_of = {node: index for index, row in enumerate(self._layers.rows) for node in row}
        for link in self._layers.links:
            links[row_of[link.upper]].append(link)
        y = 0
        for index, row in enumerate(self._layers.rows):
            height = max((self._sizes[node].height for node in row if node in self._sizes), default=1)
            entering = links[index - 1] if index else []
            self._draw_row(row, y, height, entering, links[index])
            y += height
            if links[index]:
                y = self._draw_gap(links[index], y)
            elif index + 1 < len(self._layers.rows):
                y += 1
        right = [box.x + box.width for box in self._boxes.values()]
        right += [line.x2 + 1 for wire in self._wires.values() for line in wire.lines]
        return Layout(max(right, default=0), y, self._boxes, tuple(self._wires.values()))

    def _wire(self, link: Link) -> Wire:
        if link.net not in self._wires:
            source = link.net.partition(" ^ ")[0] if link.upward else link.net
            self._wires[link.net] = Wire(source, link.upward)
        return self._wires[link.net]

    def _top(self, link: Link) -> int:
        return self._columns[link.upper] + self._docks.below[link.net, link.upper]

    def _bottom(self, link: Link) -> int:
        return self._columns[link.lower] + self._docks.above[link]

    def _draw_row(self, row: Sequence[str], y: int, height: int, entering: list[Link], leaving: list[Link]) -> None:
        """Place boxes in the middle of their row, and draw the lines from there to the edges of the row."""
        for node in row:
            if node in self._sizes:
                size = self._sizes[node]
                top = y + (height - size.height) // 2
                self._boxes[node] = Box(self._columns[node] - size.width // 2, top, size.width, size.height)
        for link in entering:
            x = self._bottom(link)
            bend = link.lower in self._layers.bends
            end = y + height - 1 if bend else self._boxes[link.lower].y
            self._wire(link).lines.append(Line(x, y - 1, x, end))
            if not bend and not link.upward:
                self._wire(link).tips.append(Tip(x, end - 1, link.lower, False))
        for link in leaving:
            if link.upper in self._layers.bends:
                continue
            x, box = self._top(link), self._boxes[link.upper]
            self._wire(link).lines.append(Line(x, box.y + box.height - 1, x, y + height))
            if link.upward:
                self._wire(link).tips.append(Tip(x, box.y + box.height, link.upper, True))

    def _draw_gap(self, links: list[Link], y: int) -> int:
        """Draw the lines between two rows, starting at `y`; return where the next row starts."""
        nets: dict[tuple[str, int], list[int]] = {}
        wires: dict[str, Wire] = {}
        for link in links:
            nets.setdefault((link.net, self._top(link)), []).append(self._bottom(link))
            wires[link.net] = self._wire(link)
        routed, tracks = route([Strand(net, top, tuple(sorted(bottoms))) for (net, top), bottoms in nets.items()])
        tips_above = any(link.upward and link.upper not in self._layers.bends for link in links)
        first = y + (1 if tips_above and tracks else 0)
        end = first + tracks  # the row of the tips that point down
        starts: dict[tuple[str, int], int] = {}  # where a strand that was split continues
        for route_ in sorted(routed, key=lambda r: -1 if r.track is None else r.track):
            strand, lines = route_.strand, wires[route_.strand.net].lines
            if route_.track is None:
                lines.append(Line(strand.top, y - 1, strand.top, end))
                continue
            at = first + route_.track
            lines.append(Line(strand.top, starts.get((strand.net, strand.top), y - 1), strand.top, at))
            left, right = strand.ends
            lines.append(Line(left, at, right, at))
            for column in strand.bottoms:
                split = any(o.strand.net == strand.net and o.strand.top == column and o is not route_ for o in routed)
                if split:
                    starts[strand.net, column] = at
                else:
                    lines.append(Line(column, at, column, end))
        return end + 1
