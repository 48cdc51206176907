"""An application as its last run described it: streamlets, topics, and where a drawing has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from blueprint.comparison import ApplicationDescriptor
from blueprint.comparison.descriptor import DescribedStreamlet
from blueprint.drawing import Edge, Node, Picture
from blueprint.drawing.layout import Layout, Size
from blueprint.drawing.packing import packed_layout
from blueprint.drawing.terminal import columns_of
from blueprint.model.blueprint import dead_letter_topic, task_topic
from blueprint.wording import counted
from streamlets.runner.checkpoints.fused_queries import fused_topics
from streamlets.runner.deployment import described

if TYPE_CHECKING:
    from cli.ui.served import Served

_BOX = Size(width=30, height=5, frame=2)
"""The least size of a streamlet in cells of the layout."""

_TOPIC = Size(width=16, height=2)
"""The least size of a topic."""

_WIDEST = 170
"""The width to which parts that are not connected are drawn side by side: readable on a wide screen."""


def structure(served: Served, collapsed: Collection[str] = ()) -> dict[str, Any]:
    """Return an application: its streamlets, topics, and the drawing of both. Without a run, there are none.

    Arguments:
        collapsed: the groups of drivers that are drawn as one box.

    Raises:
        DescriptorError, OSError, UnicodeDecodeError: the descriptor of the last run cannot be read.
    """
    application = described(served.state) or ApplicationDescriptor(application=served.name, streamlets={}, topics={})
    groups, fused = _groups(application), {name for name, _ in fused_topics(served.state.checkpoints)}
    chosen = {ref: group for group, refs in groups.items() if group in collapsed for ref in refs}
    return {
        "id": served.id,
        "name": served.name,
        "streamlets": {ref: _streamlet(streamlet) for ref, streamlet in application.streamlets.items()},
        "groups": groups,
        "topics": {
            id: {"name": topic.name, "channel": topic.channel, "managed": topic.managed, "fused": topic.name in fused}
            for id, topic in application.topics.items()
        },
        "drawing": _drawing(picture_of(served.name, application, chosen, fused)),
    }


def _groups(application: ApplicationDescriptor) -> dict[str, list[str]]:
    """Return the streamlets of each group of several; without a setting, the group of a streamlet has its name."""
    groups: dict[str, list[str]] = {}
    for ref, streamlet in application.streamlets.items():
        groups.setdefault(streamlet.group or ref, []).append(ref)
    return {group: refs for group, refs in groups.items() if len(refs) > 1}


def picture_of(
    name: str, application: ApplicationDescriptor, groups: Mapping[str, str] = MappingProxyType({}),
    fused: Collection[str] = (),
) -> Picture:  # fmt: skip
    """Return an application as something to draw: without dead letters and tasks, unless a streamlet reads them.

    Arguments:
        name: the name of the application.
        application: the application.
        groups: the streamlets that are in a box of their group, with the group. Topics in it are not drawn.
        fused: the names of the topics whose records pass within a query, which their labels show.
    """

    def box(ref: str) -> str:
        return f"group {groups[ref]}" if ref in groups else f"streamlet {ref}"

    edges = []
    for ref, streamlet in application.streamlets.items():
        edges += [Edge(f"topic {inlet.topic}", box(ref), f"{ref}.{port}") for port, inlet in streamlet.inlets.items()]
        edges += [Edge(box(ref), f"topic {out.topic}", f"{ref}.{port}") for port, out in streamlet.outlets.items()]
    own = {topic for ref in application.streamlets for topic in (dead_letter_topic(ref), task_topic(ref))}
    hidden = {f"topic {id}" for id in own if not application.inlets_of(id)}
    hidden |= _inside(edges)
    edges = [edge for edge in edges if not {edge.source, edge.target} & hidden]
    joined = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = {}
    for ref, each in application.streamlets.items():
        if ref in groups:
            count = sum(group == groups[ref] for group in groups.values())
            nodes[box(ref)] = Node(box(ref), "group", groups[ref], counted(count, "streamlet"))
        else:
            nodes[box(ref)] = Node(box(ref), "streamlet", ref, each.class_name)
    topics = [
        Node(f"topic {id}", "topic", f"{id} (fused)" if topic.name in fused else id, topic.channel)
        for id, topic in application.topics.items()
    ]
    return Picture(name, (*nodes.values(), *(topic for topic in topics if topic.id in joined)), tuple(edges))


def _inside(edges: Sequence[Edge]) -> set[str]:
    """Return the topics that only one group writes and reads."""
    writers: dict[str, set[str]] = {}
    readers: dict[str, set[str]] = {}
    for edge in edges:
        if edge.source.startswith("topic "):
            readers.setdefault(edge.source, set()).add(edge.target)
        else:
            writers.setdefault(edge.target, set()).add(edge.source)
    shared = {topic: boxes for topic, boxes in writers.items() if boxes == readers.get(topic) and len(boxes) == 1}
    return {topic for topic, (box,) in shared.items() if box.startswith("group ")}


def _streamlet(streamlet: DescribedStreamlet) -> dict[str, Any]:
    return {
        "class": streamlet.class_name,
        "group": streamlet.group,
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
        list(dict.fromkeys((edge.source, edge.target) for edge in picture.edges)),
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
    least = _TOPIC if node.kind == "topic" else _BOX
    return Size(max(least.width, columns_of(node.name) + 6), least.height, least.frame)
