"""Rules about the TCP ports that streamlets listen on, such as the ports of services of spouts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.model.draft import Draft
from blueprint.spelling import listing
from blueprint.verification.rules.parameters import parameter_place


def shared_tcp_ports(draft: Draft) -> Iterator[Diagnostic]:
    """No two streamlets listen on the same port, because only the first one that starts would get it."""
    by_port: dict[int, list[tuple[str, Span]]] = defaultdict(list)
    for ref, descriptor in draft.descriptors():
        for listening in descriptor.external.listening:
            by_port[listening.port].append((ref, parameter_place(draft, ref, listening.parameter)))
    for port, users in by_port.items():
        if len(users) > 1:
            *others, (last, place) = users
            yield finding(
                "tcp-port-shared",
                f"{listing(ref for ref, _ in users)} listen on the same port, {port}",
                Label(place, f"the port of `{last}`"),
                also=[Label(other, f"the port of `{ref}`") for ref, other in others],
                causes=("only the first one that starts can use the port; the others fail",),
                help=("use a different port for each",),
                streamlets=(ref for ref, _ in users),
            )
