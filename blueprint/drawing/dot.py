"""Rendering of a picture in the DOT language of Graphviz."""

from __future__ import annotations

from blueprint.drawing.picture import Picture


def dot(picture: Picture) -> str:
    """Return a picture as DOT: streamlets are boxes, topics are plain names, ports are labels at the ends of lines.

    The way back into a cycle is dashed.
    """
    kinds = {node.id: node.kind for node in picture.nodes}
    lines = [f"digraph {_quoted(picture.name)} {{", "  rankdir=TB", '  node [fontname="sans-serif"]']
    for node in picture.nodes:
        shape = "box" if node.kind == "streamlet" else "plaintext"
        faulty = ", color=red, style=dashed" if node.faulty else ""
        tooltip = f", tooltip={_quoted(node.detail)}" if node.detail else ""
        lines.append(f"  {_quoted(node.id)} [label={_quoted(node.name)}, shape={shape}{faulty}{tooltip}]")
    for edge in picture.edges:
        end = "taillabel" if kinds[edge.source] == "streamlet" else "headlabel"
        parts = [f"{end}={_quoted(edge.port)}"] if edge.port else []
        parts += ["style=dashed", "constraint=false"] if edge.back else []
        attributes = f" [{', '.join(parts)}]" if parts else ""
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)}{attributes}")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
