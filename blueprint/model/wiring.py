"""Port paths resolved to ports; paths that do not name a port, with the port that was probably meant."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from blueprint.catalog import PortDescriptor, StreamletDescriptor
from blueprint.model.blueprint import DEAD_LETTERS, Blueprint, PortPath, Role
from blueprint.model.graph import ApplicationGraph, Edge, Node
from blueprint.spelling import misspelling_of, near


class PortKey(NamedTuple):
    """A port of the application: an outlet if `role` is producer, an inlet if it is consumer."""

    streamlet: str
    role: Role
    port: str

    @property
    def path(self) -> str:
        """The port path of a blueprint."""
        return f"{self.streamlet}.{self.port}"


@dataclass(frozen=True, slots=True)
class Binding:
    """A port connected to a topic; `port` is omitted (None) when the streamlet's class could not be described."""

    topic: str
    key: PortKey
    path: PortPath
    port: PortDescriptor | None


StrayKind = Literal["malformed", "unknown-streamlet", "unknown-port", "wrong-direction", "listed-twice"]


@dataclass(frozen=True, slots=True)
class Stray:
    """A path that does not name a port, or not one that fits.

    Arguments:
        topic: the id of the topic that has the path.
        role: of the list that has the path.
        path: as written.
        kind: what is wrong with it.
        meant: the unconnected port that it probably means; that port is not reported as unconnected.
        only: the unconnected port that it is a misspelling of, if no other port is similar and no other path may mean
            it.
    """

    topic: str
    role: Role
    path: PortPath
    kind: StrayKind
    meant: PortKey | None
    only: PortKey | None


@dataclass(frozen=True, slots=True)
class Wiring:
    """All port paths of a blueprint, resolved.

    Arguments:
        bindings: the paths that name a port, in the order of the blueprint.
        strays: the other paths, in the order of the blueprint.
        ports: every known port of the application.
        unconnected: the ports that no path names or probably means.
    """

    bindings: tuple[Binding, ...]
    strays: tuple[Stray, ...]
    ports: Mapping[PortKey, PortDescriptor]
    unconnected: tuple[PortKey, ...]

    def graph(self, blueprint: Blueprint) -> ApplicationGraph:
        """Return the graph of all streamlets (also those whose entries cannot be read) and topics."""
        names = dict.fromkeys((*blueprint.streamlets, *(binding.key.streamlet for binding in self.bindings)))
        return ApplicationGraph(tuple(names), tuple(blueprint.topics), tuple(map(_edge, self.bindings)))


def _edge(binding: Binding) -> Edge:
    streamlet, topic = Node("streamlet", binding.key.streamlet), Node("topic", binding.topic)
    if binding.key.role == "producer":
        return Edge(streamlet, topic, binding.key.port, binding.path.span)
    return Edge(topic, streamlet, binding.key.port, binding.path.span)


def wire(blueprint: Blueprint, described: Mapping[str, StreamletDescriptor | None]) -> Wiring:
    """Resolve every path.

    Arguments:
        blueprint: as written.
        described: descriptors by streamlet; None where the class cannot be described, whose ports are not checked.
    """
    ports = {
        PortKey(ref, role, port.name): port
        for ref, descriptor in described.items()
        if descriptor is not None
        for role, side in _sides(descriptor)
        for port in side
    }
    bindings: list[Binding] = []
    unresolved: list[tuple[str, Role, PortPath, StrayKind]] = []
    for topic in blueprint.topics.values():
        seen = set()
        for role, path in topic.paths:
            kind = _kind(path, role, blueprint, described, ports)
            key = PortKey(path.streamlet, role, path.port)
            if kind is None and key in seen:
                kind = "listed-twice"
            if kind is None:
                seen.add(key)
                bindings.append(Binding(topic.id, key, path, ports.get(key)))
            else:
                unresolved.append((topic.id, role, path, kind))
    strays, unconnected = _strays(unresolved, bindings, ports, blueprint)
    return Wiring(tuple(bindings), strays, ports, unconnected)


def _sides(descriptor: StreamletDescriptor) -> tuple[tuple[Role, tuple[PortDescriptor, ...]], ...]:
    return (("producer", descriptor.outlets), ("consumer", descriptor.inlets))


def _other(role: Role) -> Role:
    return "consumer" if role == "producer" else "producer"


def _kind(
    path: PortPath,
    role: Role,
    blueprint: Blueprint,
    described: Mapping[str, StreamletDescriptor | None],
    ports: Mapping[PortKey, PortDescriptor],
) -> StrayKind | None:
    """Return the problem of a path; None for a valid path, and if its streamlet cannot be described."""
    if not path.wellformed:
        return "malformed"
    if path.streamlet not in blueprint.streamlets and path.streamlet not in blueprint.broken:
        return "unknown-streamlet"
    if described.get(path.streamlet) is None or PortKey(path.streamlet, role, path.port) in ports:
        return None
    if PortKey(path.streamlet, _other(role), path.port) in ports:
        return "wrong-direction"
    return "unknown-port"


def _strays(
    unresolved: Iterable[tuple[str, Role, PortPath, StrayKind]],
    bindings: Iterable[Binding],
    ports: Mapping[PortKey, PortDescriptor],
    blueprint: Blueprint,
) -> tuple[tuple[Stray, ...], tuple[PortKey, ...]]:
    """Assign an unconnected port to each unresolved path, so that a mistake is reported once.

    Return the strays and the remaining unconnected ports.
    """
    bound = {binding.key for binding in bindings}
    free = {key: None for key in ports if key not in bound}  # a set that keeps its order
    by_streamlet: dict[str, list[PortKey]] = defaultdict(list)
    by_port: dict[str, list[PortKey]] = defaultdict(list)
    for key in free:
        by_streamlet[key.streamlet].append(key)
        by_port[key.port].append(key)
    strays = []
    meant: PortKey | None
    names = {*blueprint.streamlets, *blueprint.broken}
    only = [_misspelt(path, role, kind, ports, names) for _, role, path, kind in unresolved]
    claims = Counter(only)
    for (topic, role, path, kind), single in zip(unresolved, only, strict=True):
        streamlet, port = _guess(path, role, blueprint, by_port, free)
        ports_of_streamlet = [key for key in by_streamlet[streamlet] if key in free]
        own = PortKey(streamlet, _other(role), port)
        of_role = [key for key in free if key.role == role and key.port != DEAD_LETTERS]
        if kind == "wrong-direction" and own in free:
            meant = own
        else:
            meant = _nearest(ports_of_streamlet, role, port) or (of_role[0] if len(of_role) == 1 else None)
        if meant is not None:
            free.pop(meant)
        sole = single if claims[single] == 1 and single not in bound else None
        strays.append(Stray(topic, role, path, kind, meant, sole))
    return tuple(strays), tuple(free)


def _misspelt(
    path: PortPath, role: Role, kind: StrayKind, ports: Iterable[PortKey], names: Collection[str]
) -> PortKey | None:
    """Return the only port, connected or not, whose path is similar; None for a path that is spelt correctly."""
    keys = [key for key in ports if key.role == role]
    own = {key.port: key for key in keys if key.streamlet == path.streamlet}
    if kind == "malformed":
        alone = [key for key in keys if key.streamlet == path.text.strip() and key.port != DEAD_LETTERS]
        paths = {key.path: key for key in keys}
        return alone[0] if len(alone) == 1 else paths.get(misspelling_of(path.text.strip(), paths) or "")
    if kind == "unknown-streamlet":
        streamlet = misspelling_of(path.streamlet, names)
        return next((key for key in keys if (key.streamlet, key.port) == (streamlet, path.port)), None)
    return own.get(misspelling_of(path.port, own) or "") if kind == "unknown-port" else None


def _guess(
    path: PortPath, role: Role, blueprint: Blueprint, by_port: Mapping[str, list[PortKey]], free: Mapping[PortKey, None]
) -> tuple[str, str]:
    """Return the streamlet and port that a path probably means, judged by its spelling."""
    if path.wellformed:
        streamlet, port = path.streamlet, path.port
    else:
        parts = [part.strip() for part in path.text.split(".") if part.strip()]
        streamlet, port = (".".join(parts[:-1]), parts[-1]) if len(parts) > 1 else ("".join(parts), "")
    if streamlet not in blueprint.streamlets:
        same_port = [key.streamlet for key in by_port.get(port, ()) if key.role == role and key in free]
        close = near(streamlet, same_port) or near(streamlet, blueprint.streamlets) or tuple(same_port)
        streamlet = close[0] if close else streamlet
    return streamlet, port


def _nearest(keys: Iterable[PortKey], role: Role, port: str) -> PortKey | None:
    """Return the port of a role with the most similar name, else the first."""
    candidates = {key.port: key for key in keys if key.role == role}
    if port in candidates:
        return candidates[port]
    close = near(port, candidates)
    if close:
        return candidates[close[0]]
    return next((key for key in candidates.values() if key.port != DEAD_LETTERS), None)
