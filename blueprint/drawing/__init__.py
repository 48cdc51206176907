"""Drawings of an application: one picture, one layered layout, one small module per format."""

from blueprint.drawing.dot import dot
from blueprint.drawing.graphml import graphml
from blueprint.drawing.json import json
from blueprint.drawing.layout import Layout, layout
from blueprint.drawing.mermaid import mermaid
from blueprint.drawing.picture import Edge, Node, Picture
from blueprint.drawing.svg import svg
from blueprint.drawing.terminal import terminal

__all__ = ["Edge", "Layout", "Node", "Picture", "dot", "graphml", "json", "layout", "mermaid", "svg", "terminal"]
