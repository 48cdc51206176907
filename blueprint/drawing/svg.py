"""Rendering of a picture as SVG, in the same layout as on a terminal; for notebooks and pages."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from blueprint.drawing.layout import Box, Layout, Size
from blueprint.drawing.packing import packed_layout
from blueprint.drawing.picture import Node, Picture
from blueprint.drawing.terminal import columns_of

_ACROSS, _DOWN = 9, 14
_WIDEST = 170
"""The cells to which parts that are not connected are drawn side by side."""

"""The size of a cell of the layout, in pixels."""

# Every rule names the class of the drawing, because notebooks put SVG into a page with other elements.
_STYLE = (
    ".flow text{font:13px ui-monospace,Menlo,Consolas,monospace;text-anchor:middle}"
    ".flow rect{fill:#eef3fb;stroke:#4a6fa5;rx:4}"
    ".flow rect.faulty{fill:#fdecea;stroke:#c0392b;stroke-dasharray:4 3}"
    ".flow path{stroke:#7a869a;fill:none}"
    ".flow path.back{stroke-dasharray:5 3}"
    ".flow polygon{fill:#7a869a}"
    ".flow text.topic{paint-order:stroke;stroke:#fff;stroke-width:5px;fill:#444}"
)


def svg(picture: Picture) -> str:
    """Return a picture as an SVG document: boxes are streamlets, names on lines are topics.

    It has neither scripts nor links, and the same picture always gives the same text.
    """
    sizes = {
        node.id: Size(columns_of(node.name) + 4, 3, frame=2)
        if node.kind == "streamlet"
        else Size(columns_of(node.name), 1)
        for node in picture.nodes
    }
    plan = packed_layout(sizes, *picture.lines, widest=_WIDEST)
    width, height = plan.width * _ACROSS + 2, plan.height * _DOWN + 2
    body = [*_wires(plan, picture), *(_node(plan.boxes[node.id], node) for node in picture.nodes)]
    size = f'width="{width}" height="{height}" viewBox="-1 -1 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" {size}>'
    return "\n".join(
        [head, f"<title>{escape(picture.name, quote=False)}</title>", f"<style>{_STYLE}</style>", *body, "</svg>\n"]
    )


def _wires(plan: Layout, picture: Picture) -> Iterator[str]:
    """Yield the lines, dashed where they close a cycle, and arrow heads where they enter streamlets."""
    streamlets = {node.id for node in picture.nodes if node.kind == "streamlet"}
    for wire in plan.wires:
        # A line ends in the middle of its last cell; where it meets a frame or a name, this is behind them.
        moves = [f"M{_x(line.x1):g} {_y(line.y1):g}L{_x(line.x2):g} {_y(line.y2):g}" for line in wire.lines]
        dashed = ' class="back"' if wire.upward else ""
        yield f'<path{dashed} d="{"".join(moves)}"/>'
        for tip in wire.tips:
            if tip.upward or tip.node in streamlets:
                yield _arrow(tip.x, tip.y, upward=tip.upward)
            else:
                yield f'<path d="M{_x(tip.x)} {_y(tip.y)}v{_DOWN}"/>'


def _arrow(x: int, y: int, *, upward: bool) -> str:
    """Return a triangle that fills the lower or upper half of a cell."""
    point, base = (y * _DOWN, _y(y)) if upward else ((y + 1) * _DOWN, _y(y))
    return f'<polygon points="{_x(x) - 4},{base} {_x(x) + 4},{base} {_x(x)},{point}"/>'


def _node(box: Box, node: Node) -> str:
    """Return a streamlet as a box, or a topic as a name."""
    middle_x = box.x * _ACROSS + box.width * _ACROSS / 2
    middle_y = box.y * _DOWN + box.height * _DOWN / 2
    name = escape(node.name, quote=False)
    if node.kind == "topic":
        return f'<text class="topic" x="{middle_x:g}" y="{middle_y:g}" dy="0.35em">{name}</text>'
    faulty = ' class="faulty"' if node.faulty else ""
    title = f"<title>{escape(node.detail, quote=False)}</title>" if node.detail else ""
    return (
        f'<g>{title}<rect{faulty} x="{box.x * _ACROSS}" y="{box.y * _DOWN}" width="{box.width * _ACROSS}" '
        f'height="{box.height * _DOWN}"/><text x="{middle_x:g}" y="{middle_y:g}" dy="0.35em">{name}</text></g>'
    )


def _x(column: int) -> float:
    return column * _ACROSS + _ACROSS / 2


def _y(row: int) -> float:
    return row * _DOWN + _DOWN / 2
