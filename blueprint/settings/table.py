"""The settings of every application: what each must be, what it does, and its default.

Channels contribute settings of their own with their traits (`known_settings.py`). Checks (`checks.py`), typed settings
(`values.py`), suggestions and `flow config` read both. A streamlet's or topic's block in the blueprint has the settings
of `flow.streamlets.<ref>` or `flow.topics.<id>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

from blueprint.plan import Access, Isolation
from blueprint.setting import Scope, Setting, SettingNode, tree_of
from blueprint.setting_types import (
    BACKOFF,
    BOOLEAN,
    DURATION,
    LABEL,
    NUMBER,
    POSITIVE,
    STRING,
    WHOLE,
    Codec,
    Structure,
    choice,
)

Starting = Literal["earliest", "latest"]
"""Where a new reader of a topic begins."""

LEVELS = ("error", "warning", "note", "off")
LEVEL = choice(*LEVELS)
STARTING: Codec[Starting] = choice("earliest", "latest")
ON_INVALID = choice("fail", "dead-letters")
EXTRA = choice("fail", "drop")
ISOLATION: Codec[Isolation] = choice("none", "process")
ACCESS: Codec[Access] = choice("owner", "group")

_TRIGGER, _OPTIONS, _OBJECT, _SCHEMA = Structure.TRIGGER, Structure.OPTIONS, Structure.OBJECT, Structure.SCHEMA
_STRINGS = Structure.STRINGS

_RETRY = (
    Setting("retry.enabled", BOOLEAN, "Whether a failed unit is restarted.", "true"),
    Setting("retry.max-attempts", WHOLE, "How often a unit is restarted before it fails for good.", "2147483647"),
    Setting(
        "retry.min-backoff", BACKOFF, "Wait before the first restart; it doubles with each further restart.", "1 second"
    ),
    Setting("retry.max-backoff", BACKOFF, "The longest wait before a restart.", "1 hour"),
    Setting("retry.random-factor", NUMBER, "Jitter: up to this fraction of a wait is added to it at random.", "0"),
    Setting(
        "retry.stable-period", DURATION, "How long a unit must run until its restarts are forgotten.", "60 seconds"
    ),
)


def _scoped(scope: Scope, *settings: Setting) -> tuple[Setting, ...]:
    return tuple(replace(setting, scope=scope) for setting in settings)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "application", STRING, "The application's name, and that of its state directory.", "the blueprint's directory"
    ),
    Setting("channel", STRING, "The channel of topics that do not set their own.", "delta"),
    Setting("trigger", _TRIGGER, "When queries read new records, unless a streamlet or query sets its own trigger."),
    *_RETRY,
    Setting("stuck-after", DURATION, "How long a batch runs before it is reported as stuck.", "10 minutes"),
    Setting("isolation", ISOLATION, "Whether streamlets share one Spark, or have a process each.", "none"),
    Setting("state-access", ACCESS, "Who may read the state directory of the application.", "owner"),
    Setting("runtimes.spark", _OPTIONS, "Spark settings of the whole application; the prefix `spark.` is optional."),
    Setting("spark.packages", _STRINGS, "Maven packages for Spark: `group:artifact:version`."),
    Setting("spark.jars", _STRINGS, "Jars and directories of jars for Spark."),
    Setting("verify.rules.<code>", LEVEL, "The level of findings with the code in `flow verify`."),
    *_scoped(
        Scope.STREAMLET,
        Setting("parameters", _OBJECT, "Values of the streamlet's config parameters, by key."),
        Setting("trigger", _TRIGGER, "When the streamlet's queries read new records."),
        *(replace(setting, doc=f"{setting.doc[:-1]}, for this streamlet.", default="") for setting in _RETRY),
        Setting("stuck-after", DURATION, "How long a batch of this streamlet runs before it is stuck."),
        Setting("spark", _OPTIONS, "Spark settings of the streamlet's session."),
        Setting("volume-mounts", _OBJECT, "The directory of each of the streamlet's volume mounts."),
        Setting("inlets.<port>", _SCHEMA, "The inlet's schema, if its class does not set it."),
        Setting("outlets.<port>", _SCHEMA, "The outlet's schema, if its class does not set it."),
        Setting("queries.<query>.trigger", _TRIGGER, "When one of its queries reads new records."),
        Setting(
            "group", LABEL, "The group that shares a driver process with `isolation = process`.",
            "the streamlet's name",
        ),
        Setting("source-evolution", BOOLEAN, "Whether inlets may be added or removed on a checkpoint.", "true"),
    ),
    *_scoped(
        Scope.INLET,
        Setting(
            "schema", _SCHEMA, "The inlet's schema, if its class does not set it, next to other settings of the inlet."
        ),
        Setting(
            "max-records", POSITIVE,
            "How many records a batch reads, in whole commits: one commit at least, more as long as they fit.",
        ),
        Setting("starting", STARTING, "Where a new reader begins.", "earliest"),
    ),
    *_scoped(
        Scope.OUTLET,
        Setting("schema", _SCHEMA, "The outlet's schema, if its class does not set it, written as a block."),
        Setting(
            "on-invalid", ON_INVALID, "What happens to a row that breaks the schema: the query fails, or the row goes "
            "to the dead letters.", "that of the class",
        ),
        Setting(
            "extra", EXTRA, "What happens to columns that the schema does not have: the query is refused, or they are "
            "dropped.", "that of the class",
        ),
        Setting(
            "partition-by", _STRINGS, "The columns, or SQL expressions, by which its records belong together.",
            "that of the class", columns=True,
        ),
    ),
    *_scoped(
        Scope.TOPIC,
        Setting("channel", STRING, "The channel that stores the topic.", "that of `flow.channel`"),
        Setting("managed", BOOLEAN, "Whether the application creates the topic.", "true"),
        Setting("topic.name", STRING, "The topic's name on its channel.", "the topic's id"),
        Setting("topic", _OPTIONS, "Settings of the topic, as its channel names them."),
    ),
)  # fmt: skip


@cache
def setting_tree() -> SettingNode:
    """Return the table as a tree; its root is `flow`."""
    return tree_of(SETTINGS)


def setting_of(path: Sequence[str]) -> Setting | None:
    """Return the setting at a path below `flow`; None when the path is a section or not a setting."""
    node = setting_tree().inner(*path)
    return node.setting if node is not None else None
