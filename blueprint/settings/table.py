"""Which settings exist, what each must be, and where a value comes from.

The table `SETTINGS` is the only list: checks (`setting_checks.py`), suggestions, docs and `flow config` read it. A
streamlet's or topic's block in the blueprint takes what `flow.streamlets.<ref>` and `flow.topics.<id>` take.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache


class SettingType(enum.Enum):
    """What a setting's value must be; the text completes "must be ..."."""

    TEXT = "a text"
    LABEL = "a name of up to 63 lower-case letters, digits and `-` inside"
    WHOLE = "a whole number from 0"
    POSITIVE = "a whole number from 1"
    NUMBER = "a number from 0"
    TRUTH = "`true` or `false`"
    DURATION = "a duration such as `5 seconds`"
    BACKOFF = "a duration of 10 ms or more, such as `1 second`"
    SIZE = "a size such as `10 GiB`"
    STARTING = "`earliest` or `latest`"
    ISOLATION = "`none` or `process`"
    ACCESS = "`owner` or `group`"
    LEVEL = "`error`, `warning`, `note` or `off`"
    TRIGGER = "`available-now`, or an object with `processing-time` or `real-time`"
    OPTIONS = "an object of single values"
    OBJECT = "an object"
    SCHEMA = "a schema: the path of an `.avsc` file, or Avro or DDL text"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Arguments:
        key: its path below `flow`; `<...>` stands for a name of the user's.
        type: what its value must be.
        doc: what it does, one sentence.
        default: in force when nothing is set, as one would write it; empty when there is none.
    """

    key: str
    type: SettingType
    doc: str
    default: str = ""


def _retry(scope: str, whose: str) -> tuple[Setting, ...]:
    inherited = scope != "retry"
    rows = (
        ("enabled", SettingType.TRUTH, "Whether a failed unit is restarted", "true"),
        ("max-attempts", SettingType.WHOLE, "How often a unit is restarted before it fails for good", "2147483647"),
        ("min-backoff", SettingType.BACKOFF, "Wait before the first restart; each one more doubles it", "1 second"),
        ("max-backoff", SettingType.BACKOFF, "The longest wait before a restart", "1 hour"),
        ("random-factor", SettingType.NUMBER, "By how much of itself a wait is prolonged at random", "0"),
        ("stable-period", SettingType.DURATION, "How long a unit must run until restarts are forgotten", "60 seconds"),
    )  # fmt: skip
    return tuple(
        Setting(f"{scope}.{key}", type, f"{doc}{whose}.", "" if inherited else default)
        for key, type, doc, default in rows
    )


_TYPE = SettingType

SETTINGS: tuple[Setting, ...] = (
    Setting("application", _TYPE.TEXT, "The application's name; it names the state folder.", "the blueprint's folder"),
    Setting("trigger", _TYPE.TRIGGER, "When queries look for new records, where nothing nearer says so."),
    *_retry("retry", ""),
    Setting("stuck-after", _TYPE.DURATION, "How long a batch runs before it is reported as stuck.", "10 minutes"),
    Setting("isolation", _TYPE.ISOLATION, "Whether streamlets share one Spark, or have a process each.", "none"),
    Setting("state-access", _TYPE.ACCESS, "Who may read the state directory of the application.", "owner"),
    Setting("runtimes.spark", _TYPE.OPTIONS, "Spark's settings for the whole application; `spark.` may be left out."),
    Setting("verify.rules.<code>", _TYPE.LEVEL, "How much findings of a code matter to `flow verify`."),
    Setting("streamlets.<ref>.parameters", _TYPE.OBJECT, "Values of the streamlet's config parameters, by key."),
    Setting("streamlets.<ref>.trigger", _TYPE.TRIGGER, "When the streamlet's queries look for new records."),
    *_retry("streamlets.<ref>.retry", ", for this streamlet"),
    Setting("streamlets.<ref>.stuck-after", _TYPE.DURATION, "The same, for this streamlet."),
    Setting("streamlets.<ref>.spark", _TYPE.OPTIONS, "Spark's settings for the streamlet's session."),
    Setting("streamlets.<ref>.volume-mounts", _TYPE.OBJECT, "The folder of each of the streamlet's volume mounts."),
    Setting("streamlets.<ref>.inlets.<port>", _TYPE.SCHEMA, "The inlet's schema, when its class leaves it open."),
    Setting("streamlets.<ref>.inlets.<port>.schema", _TYPE.SCHEMA, "The same, beside other settings of the inlet."),
    Setting(
        "streamlets.<ref>.inlets.<port>.max-records",
        _TYPE.POSITIVE,
        "How many records a batch reads, in whole commits: one commit at least, more as long as they fit.",
    ),
    Setting("streamlets.<ref>.inlets.<port>.starting", _TYPE.STARTING, "Where a new reader begins.", "earliest"),
    Setting("streamlets.<ref>.outlets.<port>", _TYPE.SCHEMA, "The outlet's schema, when its class leaves it open."),
    Setting("streamlets.<ref>.outlets.<port>.schema", _TYPE.SCHEMA, "The same, written as a block."),
    Setting("streamlets.<ref>.queries.<query>.trigger", _TYPE.TRIGGER, "When one of the streamlet's queries looks."),
    Setting("streamlets.<ref>.group", _TYPE.LABEL, "With whom it shares a driver process.", "the streamlet's name"),
    Setting("streamlets.<ref>.source-evolution", _TYPE.TRUTH, "Whether inlets may change on a checkpoint.", "true"),
    Setting("topics.<id>.channel", _TYPE.TEXT, "What carries the topic.", "delta"),
    Setting("topics.<id>.managed", _TYPE.TRUTH, "Whether the application creates the topic.", "true"),
    Setting("topics.<id>.retention.time", _TYPE.DURATION, "How long records stay at least; left out, for ever."),
    Setting("topics.<id>.retention.size", _TYPE.SIZE, "Beyond which size the oldest records go."),
    Setting("topics.<id>.retention.keep-unread", _TYPE.TRUTH, "Whether records stay until all have read them.", "true"),
    Setting("topics.<id>.cluster", _TYPE.TEXT, "The cluster that holds the topic."),
    Setting("topics.<id>.topic.name", _TYPE.TEXT, "The topic's name on its channel.", "the topic's id"),
    Setting("topics.<id>.topic.partitions", _TYPE.POSITIVE, "Into how many partitions the topic is divided."),
    Setting("topics.<id>.topic.replicas", _TYPE.POSITIVE, "How many copies the channel keeps."),
    Setting("topics.<id>.topic", _TYPE.OPTIONS, "Settings of the topic, as its channel names them."),
    Setting("topics.<id>.bootstrap.servers", _TYPE.TEXT, "Where the channel is found: `host:port, ...`."),
    Setting("topics.<id>.connection-config", _TYPE.OPTIONS, "Client settings for producers and consumers."),
    Setting("topics.<id>.producer-config", _TYPE.OPTIONS, "Client settings for producers."),
    Setting("topics.<id>.consumer-config", _TYPE.OPTIONS, "Client settings for consumers."),
)


def setting_of(path: Sequence[str]) -> Setting | None:
    """The setting at a path below `flow`, None when the path is no setting (or a section)."""
    node: SettingNode | None = setting_tree()
    for key in path:
        node = node.inner(key) if node is not None else None
    return node.setting if node is not None else None


@dataclass(slots=True)
class SettingNode:
    """What may stand under one key; `named` is what stands under a name of the user's."""

    children: dict[str, SettingNode] = field(default_factory=dict)
    named: SettingNode | None = None
    setting: Setting | None = None

    def inner(self, key: str) -> SettingNode | None:
        """What a key means here; None when there is no such setting."""
        return self.children.get(key, self.named)


@cache
def setting_tree() -> SettingNode:
    """The table as a tree; its root stands for `flow`."""
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
