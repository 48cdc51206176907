"""Which settings exist, what each must be, what it does, and its default.

`SETTINGS` is the only list: checks (`checks.py`), typed settings (`values.py`), suggestions and `flow config` read
it. A streamlet's or topic's block in the blueprint has the settings of `flow.streamlets.<ref>` or `flow.topics.<id>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from blueprint.settings.codecs import (
    ACCESS,
    BACKOFF,
    BOOLEAN,
    DURATION,
    ISOLATION,
    LABEL,
    LEVEL,
    NUMBER,
    POSITIVE,
    SIZE,
    STARTING,
    STRING,
    WHOLE,
    SettingType,
    Structure,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    Arguments:
        key: its path below `flow`; `<...>` stands for a name that the user chooses.
        type: what its value must be.
        doc: what it does, one sentence.
        default: effective when nothing is set, as it would be written; empty when there is none.
    """

    key: str
    type: SettingType
    doc: str
    default: str = ""


def _retry(scope: str, suffix: str) -> tuple[Setting, ...]:
    inherited = scope != "retry"
    rows = (
        ("enabled", BOOLEAN, "Whether a failed unit is restarted", "true"),
        ("max-attempts", WHOLE, "How often a unit is restarted before it fails for good", "2147483647"),
        ("min-backoff", BACKOFF, "Wait before the first restart; it doubles with each further restart", "1 second"),
        ("max-backoff", BACKOFF, "The longest wait before a restart", "1 hour"),
        ("random-factor", NUMBER, "Jitter: up to this fraction of a wait is added to it at random", "0"),
        ("stable-period", DURATION, "How long a unit must run until its restarts are forgotten", "60 seconds"),
    )  # fmt: skip
    return tuple(
        Setting(f"{scope}.{key}", type, f"{doc}{suffix}.", "" if inherited else default)
        for key, type, doc, default in rows
    )


_TRIGGER, _OPTIONS, _OBJECT, _SCHEMA = Structure.TRIGGER, Structure.OPTIONS, Structure.OBJECT, Structure.SCHEMA

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "application", STRING, "The application's name, and that of its state directory.", "the blueprint's directory"
    ),
    Setting("trigger", _TRIGGER, "When queries read new records, unless a streamlet or query sets its own trigger."),
    *_retry("retry", ""),
    Setting("stuck-after", DURATION, "How long a batch runs before it is reported as stuck.", "10 minutes"),
    Setting("isolation", ISOLATION, "Whether streamlets share one Spark, or have a process each.", "none"),
    Setting("state-access", ACCESS, "Who may read the state directory of the application.", "owner"),
    Setting("runtimes.spark", _OPTIONS, "Spark settings of the whole application; the prefix `spark.` is optional."),
    Setting("verify.rules.<code>", LEVEL, "The level of findings with the code in `flow verify`."),
    Setting("streamlets.<ref>.parameters", _OBJECT, "Values of the streamlet's config parameters, by key."),
    Setting("streamlets.<ref>.trigger", _TRIGGER, "When the streamlet's queries read new records."),
    *_retry("streamlets.<ref>.retry", ", for this streamlet"),
    Setting("streamlets.<ref>.stuck-after", DURATION, "How long a batch of this streamlet runs before it is stuck."),
    Setting("streamlets.<ref>.spark", _OPTIONS, "Spark settings of the streamlet's session."),
    Setting("streamlets.<ref>.volume-mounts", _OBJECT, "The directory of each of the streamlet's volume mounts."),
    Setting("streamlets.<ref>.inlets.<port>", _SCHEMA, "The inlet's schema, if its class does not set it."),
    Setting(
        "streamlets.<ref>.inlets.<port>.schema",
        _SCHEMA,
        "The inlet's schema, if its class does not set it, next to other settings of the inlet.",
    ),
    Setting(
        "streamlets.<ref>.inlets.<port>.max-records",
        POSITIVE,
        "How many records a batch reads, in whole commits: one commit at least, more as long as they fit.",
    ),
    Setting("streamlets.<ref>.inlets.<port>.starting", STARTING, "Where a new reader begins.", "earliest"),
    Setting("streamlets.<ref>.outlets.<port>", _SCHEMA, "The outlet's schema, if its class does not set it."),
    Setting(
        "streamlets.<ref>.outlets.<port>.schema",
        _SCHEMA,
        "The outlet's schema, if its class does not set it, written as a block.",
    ),
    Setting("streamlets.<ref>.queries.<query>.trigger", _TRIGGER, "When one of its queries reads new records."),
    Setting(
        "streamlets.<ref>.group", LABEL, "The group that shares a driver process with `isolation = process`.",
        "the streamlet's name",
    ),
    Setting(
        "streamlets.<ref>.source-evolution", BOOLEAN, "Whether inlets may be added or removed on a checkpoint.", "true"
    ),
    Setting("topics.<id>.channel", STRING, "The channel that stores the topic.", "delta"),
    Setting("topics.<id>.managed", BOOLEAN, "Whether the application creates the topic.", "true"),
    Setting("topics.<id>.retention.time", DURATION, "How long records are kept at least; for ever if not set."),
    Setting("topics.<id>.retention.size", SIZE, "The size above which the oldest records are deleted."),
    Setting(
        "topics.<id>.retention.keep-unread", BOOLEAN, "Whether records are kept until all readers have read them.",
        "true",
    ),
    Setting("topics.<id>.cluster", STRING, "The cluster that stores the topic."),
    Setting("topics.<id>.topic.name", STRING, "The topic's name on its channel.", "the topic's id"),
    Setting("topics.<id>.topic.partitions", POSITIVE, "The number of partitions of the topic."),
    Setting("topics.<id>.topic.replicas", POSITIVE, "The number of copies that the channel keeps."),
    Setting("topics.<id>.topic", _OPTIONS, "Settings of the topic, as its channel names them."),
    Setting("topics.<id>.bootstrap.servers", STRING, "The servers of the channel: `host:port, ...`."),
    Setting("topics.<id>.connection-config", _OPTIONS, "Client settings for producers and consumers."),
    Setting("topics.<id>.producer-config", _OPTIONS, "Client settings for producers."),
    Setting("topics.<id>.consumer-config", _OPTIONS, "Client settings for consumers."),
)  # fmt: skip


def setting_of(path: Sequence[str]) -> Setting | None:
    """Return the setting at a path below `flow`; None when the path is a section or not a setting."""
    node: SettingNode | None = setting_tree()
    for key in path:
        node = node.inner(key) if node is not None else None
    return node.setting if node is not None else None


@dataclass(slots=True)
class SettingNode:
    """A node of the tree of settings.

    Arguments:
        children: the nodes of keys.
        named: the node of all names that the user chooses; None where there are none.
        setting: the setting at this path; None for a section.
    """

    children: dict[str, SettingNode] = field(default_factory=dict)
    named: SettingNode | None = None
    setting: Setting | None = None

    def inner(self, key: str) -> SettingNode | None:
        """Return the node of a key; None when there is no such setting."""
        return self.children.get(key, self.named)


@cache
def setting_tree() -> SettingNode:
    """Return the table as a tree; its root is `flow`."""
    root = SettingNode()
    for setting in SETTINGS:
        node = root
        for key in setting.key.split("."):
            if key.startswith("<"):
                node.named = node.named or SettingNode()
                node = node.named
            else:
                node = node.children.setdefault(key, SettingNode())
        node.setting = setting
    return root
