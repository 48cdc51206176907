"""Drawings of an application: one picture, one layered layout, one small module per format."""

from blueprint.render.dot import dot
from blueprint.render.json import json
from blueprint.render.layout import Layout, layout
from blueprint.render.mermaid import mermaid
from blueprint.render.picture import Edge, Node, Picture
from blueprint.render.terminal import terminal

__all__ = ["Edge", "Layout", "Node", "Picture", "dot", "json", "layout", "mermaid", "terminal"]
