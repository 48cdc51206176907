"""Rules about port paths: each names a port of the right direction, once, and every port is connected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypedDict

from blueprint.catalog import StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Fix, FixKind, Label, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.model.blueprint import DEAD_LETTERS, PortPath, Role
from blueprint.model.draft import Draft
from blueprint.model.wiring import PortKey, Stray
from blueprint.spelling import alternatives, listing, near
from blueprint.verification.rules.links import MissingLink, missing_links
from blueprint.verification.rules.names import as_dns_label, dns_label_fault


class Concerned(TypedDict):
    """What a finding concerns, as arguments of `finding`."""

    streamlets: Sequence[str]
    topics: Sequence[str]


_KIND: dict[Role, str] = {"producer": "outlet", "consumer": "inlet"}


def malformed_paths(draft: Draft) -> Iterator[Diagnostic]:
    """A port path is `streamlet.port`."""
    for stray in _strays(draft, "malformed"):
        path = stray.path
        yield finding(
            "port-path",
            f"`{path.text}` is not a port path" if path.text.strip() else "an empty string is not a port path",
            path.span,
            label=f"expected `streamlet.{_KIND[stray.role]}`",
            help=_meant(stray),
            fix=_fix([stray]),
            **_concerned(draft, stray),
        )


def unknown_streamlets(draft: Draft) -> Iterator[Diagnostic]:
    """The streamlet of a path exists; an unknown name that is used several times is reported once.

    A name is not reported if it is the valid form of a streamlet's invalid name, or while two streamlets have the same
    name: other findings explain these mistakes.
    """
    if draft.blueprint.twice:
        return
    meant = {as_dns_label(ref) for ref in draft.blueprint.streamlets if dns_label_fault(ref)}
    uses: dict[str, list[Stray]] = defaultdict(list)
    for stray in _strays(draft, "unknown-streamlet"):
        if stray.path.streamlet not in meant:
            uses[stray.path.streamlet].append(stray)
    for name, strays in uses.items():
        first, *others = strays
        close = near(name, draft.blueprint.streamlets)
        if not close and first.meant is not None:
            close = (first.meant.streamlet,)
        yield finding(
            "unknown-streamlet",
            f"there is no streamlet `{name}`",
            first.path.span,
            also=(Label(stray.path.span, "also named here") for stray in others),
            help=(f"did you mean {alternatives(close)}?",)
            if close
            else (f"the streamlets are {listing(sorted(draft.blueprint.streamlets)[:8])}",)
            if draft.blueprint.streamlets
            else (),
            fix=_fix(strays),
            **_concerned(draft, *strays),
        )


def unknown_ports(draft: Draft) -> Iterator[Diagnostic]:
    """The port of a path exists."""
    for stray in _strays(draft, "unknown-port"):
        path, kind = stray.path, _KIND[stray.role]
        descriptor = draft.descriptor(path.streamlet)
        assert descriptor is not None
        ports = [port.name for port in (descriptor.outlets if stray.role == "producer" else descriptor.inlets)]
        if _has_invalid_port(descriptor, path.port):
            continue
        close = [PortKey(path.streamlet, stray.role, name) for name in near(path.port, ports)]
        if not close and stray.meant is not None:
            close = [stray.meant]
        if ports:
            has = f"`{descriptor.class_name}` has the {kind}{'s' if len(ports) > 1 else ''} {listing(ports)}"
        else:
            has = f"`{descriptor.class_name}` has no {kind}s"
        yield finding(
            "unknown-port",
            f"`{path.streamlet}` has no {kind} `{path.port}`",
            path.span,
            also=(label for key in close[:1] for label in _declared(draft, key, "declared here")),
            causes=(has,),
            help=_port_help(path, close),
            fix=_fix([stray]),
            **_concerned(draft, stray),
        )


def _has_invalid_port(descriptor: StreamletDescriptor, name: str) -> bool:
    """Return whether a port would have the name if its declaration, which another finding reports, were valid."""
    names = [port.name for port in (*descriptor.inlets, *descriptor.outlets)]
    return len(set(names)) < len(names) or any(dns_label_fault(port) and as_dns_label(port) == name for port in names)


def _port_help(path: PortPath, close: list[PortKey]) -> tuple[str, ...]:
    if path.port == DEAD_LETTERS:
        return ('a streamlet has dead letters if one of its ports has `on_invalid="dead-letters"`',)
    return (f"did you mean {alternatives(key.path for key in close)}?",) if close else ()


def wrong_directions(draft: Draft) -> Iterator[Diagnostic]:
    """Producers are outlets and consumers are inlets; a topic with swapped lists is reported once."""
    by_topic: dict[str, list[Stray]] = defaultdict(list)
    for stray in _strays(draft, "wrong-direction"):
        by_topic[stray.topic].append(stray)
    for id, strays in by_topic.items():
        entry = draft.blueprint.topics[id]
        if len(strays) == len(entry.paths) and entry.producers and entry.consumers:
            yield _swapped(draft, id, strays)
            continue
        for stray in strays:
            kind, expected = _KIND["consumer" if stray.role == "producer" else "producer"], _KIND[stray.role]
            yield finding(
                "wrong-direction",
                f"`{stray.path.text}` is an {kind} and cannot be a {stray.role} of `{id}`",
                stray.path.span,
                label=f"expected an {expected}",
                also=_declarations(draft, stray, kind),
                help=_direction_help(stray),
                **_concerned(draft, stray),
            )


def _swapped(draft: Draft, id: str, strays: list[Stray]) -> Diagnostic:
    first = strays[0]
    return finding(
        "wrong-direction",
        f"the producers and consumers of `{id}` are swapped",
        first.path.span,
        label="this is an inlet",
        also=[Label(stray.path.span, "this is an outlet") for stray in strays if stray.role == "consumer"][:1]
        + list(_declarations(draft, first, "inlet")),
        help=("outlets are producers, inlets are consumers",),
        **_concerned(draft, *strays),
    )


def _direction_help(stray: Stray) -> tuple[str, ...]:
    other = "consumers" if stray.role == "producer" else "producers"
    if stray.meant is not None and stray.meant.path != f"{stray.path.streamlet}.{stray.path.port}":
        return (f"did you mean `{stray.meant.path}`?",)
    return (f"move it to the {other} of the topic",)


def _declarations(draft: Draft, stray: Stray, kind: str) -> Iterator[Label]:
    key = PortKey(stray.path.streamlet, "consumer" if kind == "inlet" else "producer", stray.path.port)
    if key in draft.wiring.ports:
        yield from _declared(draft, key, f"declared as an {kind}")


def _declared(draft: Draft, key: PortKey, message: str) -> tuple[Label, ...]:
    return draft.declared(key.streamlet, draft.wiring.ports[key].declared, message)


def ports_listed_twice(draft: Draft) -> Iterator[Diagnostic]:
    """A topic lists a port once."""
    for stray in _strays(draft, "listed-twice"):
        entry = draft.blueprint.topics[stray.topic]
        first = next(
            path
            for role, path in entry.paths
            if role == stray.role and (path.streamlet, path.port) == (stray.path.streamlet, stray.path.port)
        )
        yield finding(
            "port-listed-twice",
            f"`{stray.path.text}` is listed twice in the {stray.role}s of `{stray.topic}`",
            stray.path.span,
            also=(Label(first.span, "first listed here"),),
            help=_meant(stray) or ("remove one of them",),
            **_concerned(draft, stray),
        )


def ports_bound_twice(draft: Draft) -> Iterator[Diagnostic]:
    """A port is connected to one topic."""
    places: dict[PortKey, list[tuple[str, PortPath]]] = defaultdict(list)
    for binding in draft.wiring.bindings:
        places[binding.key].append((binding.topic, binding.path))
    for key, uses in places.items():
        if len(uses) > 1:
            topics = [topic for topic, _ in uses]
            yield finding(
                "port-bound-twice",
                f"the {_KIND[key.role]} `{key.path}` is connected to the topics {listing(topics)}",
                uses[1][1].span,
                label=f"connected to `{topics[1]}`",
                also=(Label(path.span, f"connected to `{topic}`") for topic, path in (uses[0], *uses[2:])),
                help=(
                    "keep one; several streamlets may read the same topic"
                    if key.role == "producer"
                    else "keep one; several outlets may write the same topic",
                ),
                streamlets=(key.streamlet,),
                topics=topics,
            )


def unconnected_ports(draft: Draft) -> Iterator[Diagnostic]:
    """Every port is connected to a topic; ports that one missing topic would connect are reported together."""
    links = missing_links(draft)
    if links and not draft.blueprint.topics:
        yield _no_topics(draft, [key for link in links for key in (link.port, *link.inlets)])
        return
    for link in links:
        yield _unconnected(draft, link)


def _unconnected(draft: Draft, link: MissingLink) -> Diagnostic:
    key = link.port
    kind = _KIND[key.role]
    also = [*_declared(draft, key, f"the {kind} is declared here")]
    also += [label for inlet in link.inlets[:1] for label in _declared(draft, inlet, "the inlet is declared here")]
    headline = f"the {kind} `{key.path}` is not connected to a topic"
    help = f"add a topic:\n{_topic_text(key, link.inlets)}"
    if link.topic is not None:
        headline += f", and `{link.topic}` has no {key.role}s"
        also.insert(0, Label(draft.blueprint.topics[link.topic].key, "has such records"))
        help = f"add `{key.role}s = [{key.path}]` to `{link.topic}`"
    elif link.inlets:
        inlets = f"the inlet{'s' if len(link.inlets) > 1 else ''} {listing(inlet.path for inlet in link.inlets)}"
        headline = f"no topic connects the outlet `{key.path}` to {inlets}"
    return finding(
        "port-unconnected",
        headline,
        draft.blueprint.streamlets[key.streamlet].key,
        also=also,
        help=(help,),
        streamlets=(port.streamlet for port in (key, *link.inlets)),
        topics=(link.topic,) if link.topic is not None else (),
    )


def _topic_text(key: PortKey, others: Iterable[PortKey]) -> str:
    sides: dict[Role, list[str]] = {"producer": [], "consumer": []}
    for port in (key, *others):
        sides[port.role].append(port.path)
    lists = ", ".join(f"{role}s = [{', '.join(paths)}]" for role, paths in sides.items() if paths)
    return f"{key.port} {{ {lists} }}"


def _no_topics(draft: Draft, missing: list[PortKey]) -> Diagnostic:
    entry = draft.blueprint.streamlets[missing[0].streamlet]
    outlets = [key for key in missing if key.role == "producer"]
    lines = [f"  {_topic_text(key, ())}" for key in outlets or missing]
    return finding(
        "blueprint-section-missing",
        "the blueprint has no topics, but its streamlets have ports",
        entry.key,
        label=f"`{missing[0].path}` is not connected to a topic",
        help=("add a section:\n" + "\n".join(["topics {", *lines, "}"]),),
        streamlets=(key.streamlet for key in missing),
    )


def _strays(draft: Draft, kind: str) -> Iterator[Stray]:
    return (stray for stray in draft.wiring.strays if stray.kind == kind)


def _concerned(draft: Draft, *strays: Stray) -> Concerned:
    """Return the topics that list misspelt paths, and the streamlets that these paths name or mean."""
    named = [stray.path.streamlet for stray in strays] + [stray.meant.streamlet for stray in strays if stray.meant]
    known = {*draft.blueprint.streamlets, *draft.blueprint.broken}
    return {"streamlets": [ref for ref in named if ref in known], "topics": [stray.topic for stray in strays]}


def _meant(stray: Stray) -> tuple[str, ...]:
    return (f"did you mean `{stray.meant.path}`?",) if stray.meant is not None else ()


def _fix(strays: Sequence[Stray]) -> Fix | None:
    """Return the fix of misspelt paths; None when one of them may mean several ports, or a connected one."""
    if any(stray.only is None for stray in strays):
        return None
    changes = ((stray.path.span, stray.path.text, stray.only.path) for stray in strays if stray.only is not None)
    return rewrite(FixKind.RENAME_PORT, *changes)
