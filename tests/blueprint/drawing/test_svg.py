"""SVG: every node and name is in the drawing, it is well-formed, and it changes nothing of the page around it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from blueprint.drawing import Edge, Node, Picture
from blueprint.drawing.svg import svg

PICTURE = Picture(
    "app & co",
    (
        Node("s a", "streamlet", "a<b>", "x.A", faulty=True),
        Node("t t", "topic", "readings"),
        Node("s b", "streamlet", "b", "x.B"),
        Node("s c", "streamlet", "c", "x.C"),
    ),
    (Edge("s a", "t t", "out"), Edge("t t", "s b", "in"), Edge("t t", "s c", "in")),
)
NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_names_boxes_and_arrows() -> None:
    """A box per streamlet with its class as tooltip, the name of each topic, and an arrow head at each inlet."""
    root = ElementTree.fromstring(svg(PICTURE))
    assert [text.text for text in root.iter(f"{NAMESPACE}text")] == ["a<b>", "readings", "b", "c"]
    assert [title.text for title in root.iter(f"{NAMESPACE}title")] == ["app & co", "x.A", "x.B", "x.C"]
    boxes = list(root.iter(f"{NAMESPACE}rect"))
    assert [box.get("class") for box in boxes] == ["faulty", None, None]
    assert len(list(root.iter(f"{NAMESPACE}polygon"))) == 2


def test_everything_is_inside_of_the_drawing() -> None:
    """No coordinate is outside of the size."""
    root = ElementTree.fromstring(svg(PICTURE))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for path in root.iter(f"{NAMESPACE}path"):
        for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path.get("d", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


def test_styles_apply_to_the_drawing_only() -> None:
    """A notebook has other texts, which the rules must not match."""
    style = re.search("<style>(.*)</style>", svg(PICTURE))
    assert style is not None
    assert all(rule.startswith(".flow ") for rule in style[1].split("}") if rule)


def test_an_empty_picture() -> None:
    """It is a drawing without content."""
    assert ElementTree.fromstring(svg(Picture("", (), ()))).get("width") == "2"
