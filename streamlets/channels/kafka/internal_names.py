"""The names of topics that applications create in a cluster for themselves, and the claims of these topics.

Topics that no blueprint names, of dead letters and tasks, have names that begin with the application's name, because
other applications in the cluster have streamlets of the same names. A topic is claimed by the first application that
writes it for itself; another one is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.model.blueprint import dead_letter_topic, task_topic
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicWriteError
from streamlets.channels.kafka.compacted import CompactedTable, Entry
from streamlets.channels.kafka.settings import TOPIC_PREFIX

_INTERNAL = (dead_letter_topic(""), task_topic(""))
_CLAIM = "!application"


class ForeignTopicError(TopicWriteError):
    """A topic that another application has taken for itself."""


def is_internal(plan: TopicPlan) -> bool:
    """Return whether a topic is one of dead letters or tasks, to which the blueprint gives no name."""
    return plan.id.startswith(_INTERNAL) and plan.name == plan.id


def placed(plan: TopicPlan, application: str, topics: Path) -> TopicPlan:
    """Return a topic with its name in the cluster.

    An application that has used an internal topic under the name of earlier versions, without a prefix, continues to.

    Arguments:
        plan: the topic.
        application: the name of the application.
        topics: the directory with the state of the topics that the application has used.
    """
    if not is_internal(plan) or (topics / plan.id).is_dir():
        return plan
    known = [path.name for path in topics.iterdir() if path.name.endswith(plan.id)] if topics.is_dir() else []
    if not plan.channel_options and len(known) == 1:  # a command without the blueprint
        return replace(plan, name=known[0])
    return replace(plan, name=f"{topic_prefix(plan.channel_options, application)}{plan.id}")


def topic_prefix(channel_options: Mapping[str, object], application: str) -> str:
    """Return the beginning of the names of an application's internal topics."""
    prefix = TOPIC_PREFIX.of(channel_options)
    return str(prefix) if prefix is not None else f"{re.sub(r'[^A-Za-z0-9._-]', '-', application)}."


def claim(writers: CompactedTable, topic: str, application: str) -> None:
    """Take a topic for an application, unless another one has taken it before.

    Each application writes a claim with a key of its own. The order of the claims in the topic of writers is the same
    for all, so that the first is known when the own claim is visible; the others are removed by those who wrote them.

    Raises:
        ForeignTopicError: another application has taken it.
        ClusterError: the cluster does not answer, or does not allow it.
    """
    claims, key = _claims(writers.entries(), topic), _claim_key(topic, application)
    if not claims:
        writers.create()
        writers.put(key, json.dumps({"application": application}).encode())
        claims = _claims(writers.entries_with(key), topic)
    if claims[0].application != application and key in {claim.key for claim in claims}:
        writers.remove(key)
    _require(claims, topic, application)


def require_own(writers: CompactedTable, topic: str, application: str) -> None:
    """Raise an error if another application has taken a topic for itself.

    Raises:
        ForeignTopicError: another application has taken it.
        ClusterError: the cluster does not answer, or does not allow it.
    """
    _require(_claims(writers.entries(), topic), topic, application)


def forget_writers(writers: CompactedTable, topic: str, prefix: str) -> None:
    """Remove the entries of an application's writers of a topic that was just created: they are of an earlier topic.

    Arguments:
        writers: the entries of writers.
        topic: the name of the topic.
        prefix: the beginning of the names of the application's writers.

    Raises:
        ClusterError: the cluster does not answer, or does not allow it.
    """
    for key in writers.entries():
        if is_writer(key, topic) and key.startswith(f"{topic}/{prefix}"):
            writers.remove(key)


def forget_topic(writers: CompactedTable, topic: str, application: str) -> None:
    """Remove the entries of a deleted topic's writers, and the application's claim of it.

    Raises:
        ClusterError: the cluster does not answer, or does not allow it.
    """
    claim_key = _claim_key(topic, application)
    for key in writers.entries():
        if is_writer(key, topic) or key == claim_key:
            writers.remove(key)


def is_writer(key: str, topic: str) -> bool:
    """Return whether the key of an entry belongs to a writer of a topic."""
    of, _, writer = key.rpartition("/")
    return of == topic and not _is_claim(writer)


@dataclass(frozen=True, slots=True, order=True)
class _Claim:
    """An application's claim of a topic; the one with the lowest offset counts.

    Arguments:
        offset: its offset in the topic of writers.
        key: its key there.
        application: the name of the application.
    """

    offset: int
    key: str
    application: str


def _claims(entries: Mapping[str, Entry], topic: str) -> list[_Claim]:
    """Return the claims of a topic, the first one first."""
    return sorted(
        _Claim(entry.offset, key, str(json.loads(entry.value)["application"]))
        for key, entry in entries.items()
        if key.startswith(f"{topic}/") and _is_claim(key.removeprefix(f"{topic}/"))
    )


def _claim_key(topic: str, application: str) -> str:
    return f"{topic}/{_CLAIM}={application}"


def _is_claim(name: str) -> bool:
    """Return whether a key without its topic belongs to a claim; earlier versions had one key for all applications."""
    return name == _CLAIM or name.startswith(f"{_CLAIM}=")


def _require(claims: Sequence[_Claim], topic: str, application: str) -> None:
    """Raise an error if another application has the first claim.

    Raises:
        ForeignTopicError: another one has it.
    """
    owner = claims[0].application if claims else application
    if owner != application:
        raise ForeignTopicError(
            f"the topic `{topic}` has records of the application `{owner}` for itself; let `{application}` use another "
            "one: set `topic.name` of the topic, or `flow.kafka.topic-prefix` for all of them"
        )
