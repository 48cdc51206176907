"""The names of topics that applications create in a cluster for themselves, and the claims of these topics.

Topics that no blueprint names, of dead letters and tasks, have names that begin with the application's name, because
other applications in the cluster have streamlets of the same names. A topic is claimed by the first application that
writes it for itself; another one is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from blueprint.model.blueprint import dead_letter_topic, task_topic
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicWriteError
from streamlets.channels.kafka.compacted import CompactedTable
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
    """Take a topic for an application.

    Raises:
        ForeignTopicError: another application has taken it.
        ClusterError: the cluster does not answer, or does not allow it.
    """
    if owner_of(writers, topic) is None:
        writers.create()
        writers.put(f"{topic}/{_CLAIM}", json.dumps({"application": application}).encode())
    require_own(writers, topic, application)


def require_own(writers: CompactedTable, topic: str, application: str) -> None:
    """Raise an error if another application has taken a topic for itself.

    Raises:
        ForeignTopicError: another application has taken it.
        ClusterError: the cluster does not answer, or does not allow it.
    """
    owner = owner_of(writers, topic)
    if owner not in (None, application):
        raise ForeignTopicError(
            f"the topic `{topic}` has records of the application `{owner}` for itself; let `{application}` use another "
            "one: set `topic.name` of the topic, or `flow.kafka.topic-prefix` for all of them"
        )


def owner_of(writers: CompactedTable, topic: str) -> str | None:
    """Return the application that has taken a topic for itself; None if none has.

    Raises:
        ClusterError: the cluster does not answer, or does not allow it.
    """
    data = writers.refreshed().get(f"{topic}/{_CLAIM}")
    return str(json.loads(data)["application"]) if data is not None else None


def is_writer(key: str, topic: str) -> bool:
    """Return whether the key of an entry belongs to a writer of a topic."""
    of, _, writer = key.rpartition("/")
    return of == topic and writer != _CLAIM
