"""An application as its last run described it: streamlets, topics, and where a drawing has them."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from blueprint.comparison import ApplicationDescriptor
from blueprint.comparison.descriptor import DescribedStreamlet
from blueprint.drawing import Edge, Node, Picture
from blueprint.drawing.layout import Layout, Size
from blueprint.drawing.packing import packed_layout
from blueprint.drawing.terminal import columns_of
from blueprint.model.blueprint import dead_letter_topic, task_topic
from streamlets.runner.deployment import described

if TYPE_CHECKING:
    from cli.ui.served import Served

_BOX = Size(width=30, height=5, frame=2)
"""The least size of a streamlet in cells of the layout."""

_TOPIC = Size(width=16, height=2)
"""The least size of a topic."""

_WIDEST = 170
"""The width to which parts that are not connected are drawn side by side: readable on a wide screen."""


def structure(served: Served) -> dict[str, Any]:
    """Return an application: its streamlets, topics, and the drawing of both. Without a run, there are none.

    Raises:
        DescriptorError, OSError, UnicodeDecodeError: the descriptor of the last run cannot be read.
    """
    application = described(served.state) or ApplicationDescriptor(application=served.name, streamlets={}, topics={})
    return {
        "id": served.id,
        "name": served.name,
        "streamlets": {ref: _streamlet(streamlet) for ref, streamlet in application.streamlets.items()},
        "topics": {
            id: {"name": topic.name, "channel": topic.channel, "managed": topic.managed}
            for id, topic in application.topics.items()
        },
        "drawing": _drawing(picture_of(served.name, application)),
    }


def picture_of(name: str, application: ApplicationDescriptor) -> Picture:
    """Return an application as something to draw: without dead letters and tasks, unless a streamlet reads them."""
    edges = []
    for ref, streamlet in application.streamlets.items():
        edges += [Edge(f"topic {inlet.topic}", f"streamlet {ref}", port) for port, inlet in streamlet.inlets.items()]
        edges += [Edge(f"streamlet {ref}", f"topic {outlet.topic}", port) for port, outlet in streamlet.outlets.items()]
    own = {topic for ref in application.streamlets for topic in (dead_letter_topic(ref), task_topic(ref))}
    hidden = {f"topic {id}" for id in own if not application.inlets_of(id)}
    edges = [edge for edge in edges if edge.target not in hidden]
    joined = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = [
        Node(f"streamlet {ref}", "streamlet", ref, each.class_name) for ref, each in application.streamlets.items()
    ]
    topics = [Node(f"topic {id}", "topic", id, topic.channel) for id, topic in application.topics.items()]
    nodes += [topic for topic in topics if topic.id in joined]
    return Picture(name, tuple(nodes), tuple(edges))


def _streamlet(streamlet: DescribedStreamlet) -> dict[str, Any]:
    return {
        "class": streamlet.class_name,
        "replicas": streamlet.replicas,
        "real_time": all(
            trigger is not None and trigger.startswith("real-time")
            for trigger in (streamlet.trigger, *streamlet.triggers.values())
        ),
        "inlets": {name: inlet.topic for name, inlet in streamlet.inlets.items()},
        "outlets": {name: outlet.topic for name, outlet in streamlet.outlets.items()},
    }


@lru_cache(maxsize=16)
def _drawing(picture: Picture) -> dict[str, Any]:
    """Return the drawing in cells of the layout that all drawings share. It is kept: a large one takes a second."""
    plan: Layout = packed_layout(
        {node.id: _size(node) for node in picture.nodes},
        [(edge.source, edge.target) for edge in picture.edges],
        widest=_WIDEST,
    )
    return {
        "width": plan.width,
        "height": plan.height,
        "nodes": [
            {"id": node.id, "kind": node.kind, "name": node.name, "detail": node.detail, **asdict(plan.boxes[node.id])}
            for node in picture.nodes
        ],
        "wires": [asdict(wire) for wire in plan.wires],
        "edges": [asdict(edge) for edge in picture.edges],
    }


def _size(node: Node) -> Size:
    least = _BOX if node.kind == "streamlet" else _TOPIC
    return Size(max(least.width, columns_of(node.name) + 6), least.height, least.frame)
