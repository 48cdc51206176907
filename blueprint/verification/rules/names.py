"""Rules about names of streamlets, classes, ports and topics. Labels and topic names follow Cloudflow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from blueprint.catalog import TopicSettings
from blueprint.diagnostics import Diagnostic, Label, Severity, finding
from blueprint.hocon.values import Scalar, span_of
from blueprint.model.blueprint import DEAD_LETTERS
from blueprint.model.draft import Draft
from blueprint.spelling import alternatives
from blueprint.verification.rules.reporting import reported_once

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_CLASS_PATH = re.compile(r"([^\W\d]\w*\.)+[^\W\d]\w*")
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]+")
_APPLICATION_NAME = re.compile(r"\w([\w .-]*[\w-])?")
_LONGEST_LABEL = 63
_LONGEST_TOPIC_NAME = 249  # Kafka's limit; it applies to every channel, so that a topic can move


def dns_label_fault(name: str) -> str | None:
    """Return why a name is not a DNS label, as the end of a sentence about it; None when it is one."""
    if len(name) > _LONGEST_LABEL:
        return f"is {len(name)} characters long; at most {_LONGEST_LABEL} are allowed"
    if not _DNS_LABEL.fullmatch(name):
        return "must have lower-case letters and digits only, and `-` between them"
    return None


def as_dns_label(name: str) -> str:
    """Return the DNS label that is most similar to a name; "" when no character of the name is allowed."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_LONGEST_LABEL].strip("-")


def _suggested(name: str) -> tuple[str, ...]:
    label = as_dns_label(name)
    return (f"did you mean `{label}`?",) if label and label != name else ()


def streamlet_names(draft: Draft) -> Iterator[Diagnostic]:
    """A streamlet's name is a DNS label, because it is a part of query, directory and Kubernetes resource names."""
    for entry in draft.blueprint.streamlets.values():
        if fault := dns_label_fault(entry.ref):
            yield finding(
                "streamlet-name",
                f"invalid streamlet name `{entry.ref}`",
                entry.key,
                causes=(f"the name {fault}",),
                help=_suggested(entry.ref),
                streamlets=(entry.ref,),
            )


def class_paths(draft: Draft) -> Iterator[Diagnostic]:
    """A class is written as `module.Class`."""
    for entry in draft.blueprint.streamlets.values():
        if not is_class_path(entry.class_name):
            yield finding(
                "class-path",
                f"`{entry.class_name}` is not a class path",
                entry.class_span,
                label="expected `module.Class`",
                help=_class_help(entry.class_name),
                streamlets=(entry.ref,),
            )


def _class_help(text: str) -> tuple[str, ...]:
    dotted = text.strip().replace(":", ".").replace("/", ".")
    if dotted != text and is_class_path(dotted):
        return (f"did you mean `{dotted}`?",)
    return ("write the module's path and the class, such as `weather.RandomSensors`",)


def is_class_path(text: str) -> bool:
    """Return whether a text can be the path of a class in a module."""
    return _CLASS_PATH.fullmatch(text) is not None


@reported_once("headline", "primary")
def port_names(draft: Draft) -> Iterator[Diagnostic]:
    """A port's name is a DNS label; reported once per declaration, at its place."""
    for ref, descriptor in draft.descriptors():
        user = Label(draft.blueprint.streamlets[ref].class_span, f"`{ref}` uses the class")
        for kind, ports in (("inlet", descriptor.inlets), ("outlet", descriptor.outlets)):
            for port in ports:
                if fault := dns_label_fault(port.name):
                    yield finding(
                        "port-name",
                        f"invalid {kind} name `{port.name}`",
                        port.declared,
                        also=(user,),
                        causes=(f"the name {fault}",),
                        help=_suggested(port.name),
                        streamlets=(ref,),
                    )


@reported_once("headline")
def shared_port_names(draft: Draft) -> Iterator[Diagnostic]:
    """The ports of a streamlet have different names, even an inlet and an outlet: a path could mean either."""
    for ref, descriptor in draft.descriptors():
        seen = {}
        for kind, port in [("inlet", p) for p in descriptor.inlets] + [("outlet", p) for p in descriptor.outlets]:
            if port.name not in seen:
                seen[port.name] = (kind, port)
            else:
                first_kind, first = seen[port.name]
                yield finding(
                    "port-name-shared",
                    f"`{descriptor.class_name}` has two ports with the name `{port.name}`",
                    port.declared,
                    label=f"an {kind}",
                    also=(Label(first.declared, f"an {first_kind}"),),
                    help=("rename one of them",),
                    streamlets=(ref,),
                )


def topic_names(draft: Draft) -> Iterator[Diagnostic]:
    """Ids and physical names of topics are valid names of directories and Kafka topics."""
    for id, entry in draft.blueprint.topics.items():
        facts = draft.topics.get(id)
        if fault := topic_name_fault(id):
            yield finding("topic-id", f"invalid topic id `{id}`", entry.key, causes=(f"the id {fault}",), topics=(id,))
        elif facts is not None and facts.name != id and (fault := topic_name_fault(facts.name)):
            yield finding(
                "topic-name",
                f"invalid topic name `{facts.name}`",
                draft.topic_span(id, "topic", "name"),
                causes=(f"the name {fault}",),
                topics=(id,),
            )
        elif facts is not None and facts.channel in draft.channels:
            yield from _reserved_name(draft, id, facts)


def _reserved_name(draft: Draft, id: str, facts: TopicSettings) -> Iterator[Diagnostic]:
    """A topic's name does not have a prefix that its channel reserves."""
    reserved = draft.channels[facts.channel].reserved
    if facts.name.startswith(reserved):
        kind = "id" if facts.name == id else "name"
        yield finding(
            f"topic-{kind}",
            f"invalid topic {kind} `{facts.name}`",
            draft.topic_span(id, "topic", "name"),
            causes=(f"the channel `{facts.channel}` reserves names that begin with {alternatives(reserved)}",),
            topics=(id,),
        )


@reported_once("primary.span")
def cluster_names(draft: Draft) -> Iterator[Diagnostic]:
    """The name of a topic's cluster is a DNS label; reported once for a place that topics share."""
    for id in draft.topics:
        name = draft.topic_setting(id, "cluster")
        if not isinstance(name, Scalar) or name.value is None:
            continue
        if name.text.strip() and (fault := dns_label_fault(name.text)):
            yield finding(
                "cluster-name",
                f"invalid cluster name `{name.text}`",
                span_of(name),
                label=f"the cluster of `{id}`",
                causes=(f"the name {fault}",),
                help=_suggested(name.text),
                topics=(id,),
            )


def application_names(draft: Draft) -> Iterator[Diagnostic]:
    """The application's name is valid as a directory name on any file system, and in the names of its queries."""
    name = draft.settings.get("application")
    if draft.blueprint.file.endswith(".sql"):
        return  # the rule of jobs is stricter
    if isinstance(name, Scalar) and name.text.strip() and (fault := _application_name_fault(name.text)):
        yield finding(
            "application-name",
            f"invalid application name `{name.text}`",
            span_of(name),
            causes=(f"the name {fault}",),
            help=_suggested(name.text),
        )


def job_names(draft: Draft) -> Iterator[Diagnostic]:
    """The name of a job, from its file or the setting `flow.application`, is valid."""
    name = draft.settings.get("application")
    if not draft.blueprint.file.endswith(".sql") or not isinstance(name, Scalar):
        return
    from blueprint.sql.job import JOB_ID  # blueprints other than jobs need not pay for the import

    if JOB_ID.fullmatch(name.text):
        return
    yield finding(
        "sql-job",
        f"invalid name of a job `{name.text}`",
        span_of(name),
        causes=("a name must begin with a letter and have 3 to 128 letters, digits and `_`",),
        help=("rename the file, or set `flow.application`",),
    )


def _application_name_fault(name: str) -> str | None:
    if len(name) > _LONGEST_TOPIC_NAME:
        return f"is {len(name)} characters long; at most {_LONGEST_TOPIC_NAME} are allowed"
    if not _APPLICATION_NAME.fullmatch(name):
        return "must have letters and digits only, and `.`, `_`, `-` and spaces between them"
    return None


def topic_name_fault(name: str) -> str | None:
    """Return why a name is not the name of a topic, as the end of a sentence about it; None when it is one."""
    if name in ("", ".", ".."):
        return "would refer to another directory"
    if len(name) > _LONGEST_TOPIC_NAME:
        return f"is {len(name)} characters long; at most {_LONGEST_TOPIC_NAME} are allowed"
    if not _TOPIC_NAME.fullmatch(name):
        return "must have letters, digits, `.`, `_` and `-` only"
    return None


def topic_name_clashes(draft: Draft) -> Iterator[Diagnostic]:
    """The topics of a channel have different physical names.

    The names in a cluster also differ for Kafka's metrics and for a file system that does not distinguish upper and
    lower case.
    """
    groups: dict[tuple[str, str], list[TopicSettings]] = defaultdict(list)
    for topic in draft.topics.values():
        earlier = groups[topic.channel, _similar(topic.name)]
        other = next((other for other in reversed(earlier) if _clash(other, topic)), None)
        earlier.append(topic)
        if other is None:
            continue
        causes: tuple[str, ...] = ()
        if topic.name != other.name:
            headline = f"the topic names `{other.name}` and `{topic.name}` differ only in case or in `.` and `_`"
            causes = ("some file systems and Kafka's metrics treat them as the same",)
        else:
            headline = f"the topics `{other.id}` and `{topic.id}` have the same name `{topic.name}`"
            if topic.location != other.location:
                causes = ("they are on different servers, but positions of readers have only the name of a topic",)
        yield finding(
            "topic-name-clash",
            headline,
            draft.topic_span(topic.id, "topic", "name"),
            also=(Label(draft.topic_span(other.id, "topic", "name"), "the other topic"),),
            causes=causes,
            help=("give one of them another `topic.name`",),
            severity=Severity.ERROR if topic.name == other.name else Severity.WARNING,
            topics=(other.id, topic.id),
        )


def _clash(topic: TopicSettings, other: TopicSettings) -> bool:
    """Return whether two topics of a channel with similar names may be mistaken for each other."""
    return topic.name == other.name or topic.location == other.location


def dead_letter_topics(draft: Draft) -> Iterator[Diagnostic]:
    """No topic has the id or name of a dead-letter topic, unless the blueprint connects the dead letters to it."""
    topics: dict[tuple[str, str], list[TopicSettings]] = defaultdict(list)
    for topic in draft.topics.values():
        topics[topic.channel, _similar(topic.name)].append(topic)
    for ref, topic in draft.dead_letters.items():
        id = topic.id
        similar = topics.get((topic.channel, _similar(topic.name)), ())
        other = id if id in draft.topics else next((other.id for other in similar if _clash(other, topic)), None)
        if other is not None:
            named = other != id
            yield finding(
                "topic-name-clash",
                f"`{draft.topics[other].name if named else id}` is the dead-letter topic of `{ref}`",
                draft.topic_span(other, "topic", "name") if named else draft.blueprint.topics[id].key,
                help=(
                    f"give `{other}` another `topic.name`"
                    if named
                    else f"give it another id, or add `{ref}.{DEAD_LETTERS}` to its producers",
                ),
                streamlets=(ref,),
                topics=(other,),
            )


def _similar(name: str) -> str:
    """Return a form of a topic's name that is equal for names which a file system or Kafka's metrics may confuse."""
    return name.lower().replace("_", ".")
