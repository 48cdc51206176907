"""Rendering of a picture as a Mermaid flowchart, which code hosts and many wikis display as a drawing."""

from __future__ import annotations

from blueprint.drawing.picture import Picture

_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}


def mermaid(picture: Picture) -> str:
    """Return a picture as Mermaid text: streamlets are boxes, topics are stadiums, ports are labels of the lines.

    The way back into a cycle is dotted.
    """
    ids = {node.id: f"n{index}" for index, node in enumerate(picture.nodes)}
    lines = ["flowchart TD"]
    for node in picture.nodes:
        opening, closing = ('["', '"]') if node.kind == "streamlet" else ('(["', '"])')
        lines.append(f"    {ids[node.id]}{opening}{_escaped(node.name)}{closing}")
    for edge in picture.edges:
        port = f'|"{_escaped(edge.port)}"|' if edge.port else ""
        lines.append(f"    {ids[edge.source]} {'-.->' if edge.back else '-->'}{port} {ids[edge.target]}")
    topics = [ids[node.id] for node in picture.nodes if node.kind == "topic"]
    faulty = [ids[node.id] for node in picture.nodes if node.faulty]
    if topics:
        lines += ["    classDef topic fill:none", f"    class {','.join(topics)} topic"]
    if faulty:
        lines += ["    classDef faulty stroke:#d33,stroke-dasharray:4", f"    class {','.join(faulty)} faulty"]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(character, character) for character in text)
