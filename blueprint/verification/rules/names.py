"""Rules about names: streamlets, classes, ports, topics. DNS labels and topic names are as Cloudflow has them."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, Label, Severity, finding
from blueprint.hocon.values import Scalar, span_of
from blueprint.model.blueprint import DEAD_LETTERS, dead_letter_topic
from blueprint.model.draft import Draft, TopicFacts
from blueprint.settings.values import topic_facts
from blueprint.spelling import alternatives

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_CLASS_PATH = re.compile(r"([^\W\d]\w*\.)+[^\W\d]\w*")
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]+")
_APPLICATION_NAME = re.compile(r"\w([\w .-]*[\w-])?")
_LONGEST_LABEL = 63
_LONGEST_TOPIC_NAME = 249  # what Kafka allows; one limit for every channel, so that a topic can move


def dns_label_fault(name: str) -> str | None:
    """Why a name is no DNS label, as the end of a sentence about it; None when it is one."""
    if len(name) > _LONGEST_LABEL:
        return f"is {len(name)} characters long; {_LONGEST_LABEL} are allowed"
    if not _DNS_LABEL.fullmatch(name):
        return "may have lower-case letters, digits and `-` inside only"
    return None


def as_dns_label(name: str) -> str:
    """The DNS label nearest to a name; "" when nothing of it can stay."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_LONGEST_LABEL].strip("-")


def _suggested(name: str) -> tuple[str, ...]:
    label = as_dns_label(name)
    return (f"did you mean `{label}`?",) if label and label != name else ()


def streamlet_names(draft: Draft) -> Iterator[Diagnostic]:
    """A streamlet's name is a DNS label: it becomes part of query names, folders and Kubernetes resources."""
    for entry in draft.blueprint.streamlets.values():
        if fault := dns_label_fault(entry.ref):
            yield finding(
                "streamlet-name",
                f"`{entry.ref}` cannot be the name of a streamlet",
                entry.key,
                causes=(f"the name {fault}",),
                help=_suggested(entry.ref),
            )


def class_paths(draft: Draft) -> Iterator[Diagnostic]:
    """A class is written as `module.Class`."""
    for entry in draft.blueprint.streamlets.values():
        if not is_class_path(entry.class_name):
            yield finding(
                "class-path",
                f"`{entry.class_name}` is no path of a class",
                entry.class_span,
                label="wants `module.Class`",
                help=_class_help(entry.class_name),
            )


def _class_help(text: str) -> tuple[str, ...]:
    dotted = text.strip().replace(":", ".").replace("/", ".")
    if dotted != text and is_class_path(dotted):
        return (f"did you mean `{dotted}`?",)
    return ("write the module's path and the class, such as `weather.RandomSensors`",)


def is_class_path(text: str) -> bool:
    """Whether a text can name a class in a module."""
    return _CLASS_PATH.fullmatch(text) is not None


def port_names(draft: Draft) -> Iterator[Diagnostic]:
    """A port's name is a DNS label; told once per declaration, where it is declared."""
    told = set()
    for ref, entry in draft.blueprint.streamlets.items():
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        for kind, ports in (("inlet", descriptor.inlets), ("outlet", descriptor.outlets)):
            for port in ports:
                fault = dns_label_fault(port.name)
                if fault and (port.declared, port.name) not in told:
                    told.add((port.declared, port.name))
                    yield finding(
                        "port-name",
                        f"`{port.name}` cannot be the name of an {kind}",
                        port.declared,
                        also=(Label(entry.class_span, f"`{ref}` uses the class"),),
                        causes=(f"the name {fault}",),
                        help=_suggested(port.name),
                    )


def shared_port_names(draft: Draft) -> Iterator[Diagnostic]:
    """No two ports of a streamlet have one name, not even an inlet and an outlet: a path could mean either."""
    told = set()
    for descriptor in map(draft.descriptor, draft.blueprint.streamlets):
        if descriptor is None:
            continue
        seen = {}
        for kind, port in [("inlet", p) for p in descriptor.inlets] + [("outlet", p) for p in descriptor.outlets]:
            if port.name not in seen:
                seen[port.name] = (kind, port)
            elif (descriptor.class_name, port.name) not in told:
                told.add((descriptor.class_name, port.name))
                first_kind, first = seen[port.name]
                yield finding(
                    "port-name-shared",
                    f"`{descriptor.class_name}` has two ports called `{port.name}`",
                    port.declared,
                    label=f"this {kind}",
                    also=(Label(first.declared, f"and this {first_kind}"),),
                    help=("give one of them another name",),
                )


def topic_names(draft: Draft) -> Iterator[Diagnostic]:
    """Ids and physical names of topics can be folders and Kafka topics."""
    for id, entry in draft.blueprint.topics.items():
        facts = draft.topics.get(id)
        if fault := _topic_name_fault(id):
            yield finding("topic-id", f"`{id}` cannot be the id of a topic", entry.key, causes=(f"the id {fault}",))
        elif facts is not None and facts.name != id and (fault := _topic_name_fault(facts.name)):
            yield finding(
                "topic-name",
                f"`{facts.name}` cannot be the name of a topic",
                draft.topic_span(id, "topic", "name"),
                causes=(f"the name {fault}",),
            )
        elif facts is not None and facts.channel in draft.channels:
            yield from _reserved_name(draft, id, facts)


def _reserved_name(draft: Draft, id: str, facts: TopicFacts) -> Iterator[Diagnostic]:
    """No topic has a name that its channel uses for itself."""
    reserved = draft.channels[facts.channel].reserved
    if facts.name.startswith(reserved):
        what = "id" if facts.name == id else "name"
        yield finding(
            f"topic-{what}",
            f"`{facts.name}` cannot be the {what} of a topic",
            draft.topic_span(id, "topic", "name"),
            causes=(
                f"names that begin with {alternatives(reserved)} are reserved for the channel `{facts.channel}` itself",
            ),
        )


def cluster_names(draft: Draft) -> Iterator[Diagnostic]:
    """The cluster of a topic is named by a DNS label; told once for a place that topics share."""
    told = set()
    for id in draft.topics:
        name = draft.topic_setting(id, "cluster")
        if not isinstance(name, Scalar) or name.value is None:
            continue
        fault, place = dns_label_fault(name.text), span_of(name)
        if fault and name.text.strip() and place not in told:
            told.add(place)
            yield finding(
                "cluster-name",
                f"`{name.text}` cannot be the name of a cluster",
                place,
                label=f"the cluster of `{id}`",
                causes=(f"the name {fault}",),
                help=_suggested(name.text),
            )


def application_names(draft: Draft) -> Iterator[Diagnostic]:
    """The application's name can be a folder on any file system, and the first part of its queries' names."""
    name = draft.settings.get("application")
    if isinstance(name, Scalar) and name.text.strip() and (fault := _application_name_fault(name.text)):
        yield finding(
            "application-name",
            f"`{name.text}` cannot be the name of an application",
            span_of(name),
            causes=(f"the name {fault}",),
            help=_suggested(name.text),
        )


def _application_name_fault(name: str) -> str | None:
    if len(name) > _LONGEST_TOPIC_NAME:
        return f"is {len(name)} characters long; {_LONGEST_TOPIC_NAME} are allowed"
    if not _APPLICATION_NAME.fullmatch(name):
        return "begins with a letter or digit and may have `.`, `_`, `-` and blanks inside"
    return None


def _topic_name_fault(name: str) -> str | None:
    if name in ("", ".", ".."):
        return "would be a folder that means another one"
    if len(name) > _LONGEST_TOPIC_NAME:
        return f"is {len(name)} characters long; {_LONGEST_TOPIC_NAME} are allowed"
    if not _TOPIC_NAME.fullmatch(name):
        return "may have letters, digits, `.`, `_` and `-` only"
    return None


def topic_name_clashes(draft: Draft) -> Iterator[Diagnostic]:
    """No two topics of one channel and cluster are the same outside, or the same to Kafka's metrics or to a file
    system that does not tell upper from lower case."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for id, facts in draft.topics.items():
        groups[_physical(facts)].append(id)
    for ids in groups.values():
        for previous, id in itertools.pairwise(ids):
            one, two = draft.topics[previous].name, draft.topics[id].name
            if one == two:
                said, severity = f"the topics `{previous}` and `{id}` have one name, `{one}`", Severity.ERROR
            else:
                said = f"the names of the topics `{one}` and `{two}` differ only in case or in `.` and `_`"
                severity = Severity.WARNING
            yield finding(
                "topic-name-clash",
                said,
                draft.topic_span(id, "topic", "name"),
                also=(Label(draft.topic_span(previous, "topic", "name"), "the other"),),
                causes=() if one == two else ("some file systems and Kafka's metrics take them for one",),
                help=("give one of them another `topic.name`",),
                severity=severity,
            )


def dead_letter_topics(draft: Draft) -> Iterator[Diagnostic]:
    """No topic has the id or name of a dead-letter topic that the blueprint does not wire itself."""
    bound = {binding.key for binding in draft.wiring.bindings}
    names = {_physical(facts): id for id, facts in draft.topics.items()}
    for key in draft.wiring.ports:
        if key.port != DEAD_LETTERS or key.role != "producer" or key in bound:
            continue
        id = dead_letter_topic(key.streamlet)
        other = id if id in draft.topics else names.get(_physical(topic_facts(id, draft.settings)))
        if other is not None:
            named = other != id
            yield finding(
                "topic-name-clash",
                f"`{draft.topics[other].name if named else id}` is the topic of the dead letters of `{key.streamlet}`",
                draft.topic_span(other, "topic", "name") if named else draft.blueprint.topics[id].key,
                help=(
                    f"give `{other}` another `topic.name`"
                    if named
                    else f"give it another id, or make `{key.path}` its producer",
                ),
            )


def _physical(facts: TopicFacts) -> tuple[str, str, str]:
    """What a topic is outside: names that some file system or Kafka's metrics take for one are the same here."""
    return facts.channel, facts.cluster, facts.name.lower().replace("_", ".")
