"""Drawings of an application: one picture, one layered layout, one small module per format.

The formats are imported from their modules: verification makes a picture, and only few commands draw it.
"""

from blueprint.drawing.picture import Edge, Node, Picture

__all__ = ["Edge", "Node", "Picture"]
