"""Rendering of a picture as GraphML, which networkx, yEd, Gephi and others read."""

from __future__ import annotations

import re
from typing import Any

from blueprint.drawing.picture import Picture

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graphml(picture: Picture) -> str:
    """Return a picture as GraphML: nodes with `kind`, `name`, `detail` and `faulty`, edges with `port` and `back`.

    Characters that XML does not allow, which only names with errors have, are replaced by U+FFFD.
    """
    import networkx as nx  # slow to import, and only needed for this format

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=_text(picture.name))
    for node in picture.nodes:
        data: dict[str, Any] = {"kind": node.kind, "name": _text(node.name), "detail": _text(node.detail)}
        graph.add_node(_text(node.id), faulty="true" if node.faulty else "false", **data)
    for edge in picture.edges:
        graph.add_edge(
            _text(edge.source), _text(edge.target), port=_text(edge.port), back="true" if edge.back else "false"
        )
    return "\n".join(nx.generate_graphml(graph))


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
