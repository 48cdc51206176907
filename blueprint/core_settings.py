"""The settings of every application. Each field of these classes declares one, and the plan carries the objects.

A field gives the key, type, description and default of a setting. Checks, readers (`settings/values.py`), completion,
the editor, `flow config`, the JSON Schema and the reference are derived from it. Channels add settings of their own
with their traits (`settings/known_settings.py`). A streamlet's or topic's block in the blueprint has the settings of
`flow.streamlets.<ref>` or `flow.topics.<id>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from blueprint.kubernetes_settings import KubernetesSettings
from blueprint.quantities import Duration, MemorySize
from blueprint.setting import Scope, Setting, SettingNode, by_name, options, section, setting, settings_of, tree_of
from blueprint.setting_types import (
    BACKOFF,
    BOOLEAN,
    DURATION,
    LABEL,
    MASTER,
    NUMBER,
    OBJECT,
    OPTIONS,
    PORT,
    POSITIVE,
    REPLICAS,
    SCHEMA,
    SIZE,
    SPARK_OPTIONS,
    STRING,
    STRINGS,
    TIME_LIMIT,
    TRIGGER,
    WHOLE,
    Codec,
    choice,
)
from blueprint.trigger import Trigger

Isolation = Literal["none", "process"]
"""Where streamlets run: all in one Spark, or each streamlet or group in a process with its own Spark."""

Access = Literal["owner", "group"]
"""Who may read the state directory: only the user who runs the application, or also the group of the directory."""

Resources = Literal["keep", "standard", "skip"]
"""What a run creates and deletes: it creates missing topics and keeps all, it also deletes what it manages after a
clean end, or it does neither."""

Starting = Literal["earliest", "latest"]
"""Where a new reader of a topic begins."""

OnInvalid = Literal["fail", "dead-letters"]
"""What happens to a record that breaks its schema."""

Extra = Literal["fail", "drop"]
"""What happens to columns that the schema of an outlet does not have."""

End = Literal["on-request", "when-producers-end"]
"""When a streamlet ends: only on request, or when its producers have ended and it has read all that they wrote."""

OnStuck = Literal["report", "restart"]
"""What happens to a streamlet that is stuck: it is reported, or also interrupted and started again."""

Modules = Literal["shared", "files", "image"]
"""How the application's modules reach executors: from a shared directory, as files of Spark, or in their image."""

LEVELS = ("error", "warning", "note", "off")
"""The levels of findings."""

_ISOLATION: Codec[Isolation] = choice("none", "process")
_ACCESS: Codec[Access] = choice("owner", "group")
_RESOURCES: Codec[Resources] = choice("keep", "standard", "skip")
_STARTING: Codec[Starting] = choice("earliest", "latest")
_ON_INVALID: Codec[OnInvalid] = choice("fail", "dead-letters")
_EXTRA: Codec[Extra] = choice("fail", "drop")
_END: Codec[End] = choice("on-request", "when-producers-end")
_ON_STUCK: Codec[OnStuck] = choice("report", "restart")
_MODULES: Codec[Modules] = choice("shared", "files", "image")
_OF_MASTER = "it depends on the kind of the master"
_OF_CLASS = "the value in the class"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings:
    """The settings of the metrics of a run: `flow.metrics.<key>`."""

    port: int | None = setting(PORT, "The port on which a run serves `/metrics`, `/healthz` and `/readyz`.")
    host: str = setting(STRING, "The address on which a run serves metrics.", "127.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """The settings of the traces of a run: `flow.telemetry.<key>`. Variables of OpenTelemetry have the others."""

    endpoint: str | None = setting(STRING, "The URL of an OTLP receiver, to which a run sends its batches as traces.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPlace:
    """Where a secret is: `flow.cluster.secret.<key>`."""

    env: str | None = setting(STRING, "The environment variable of the runner that has the secret.")
    file: str | None = setting(STRING, "The file that has the secret; a relative path starts next to the blueprint.")

    @property
    def is_set(self) -> bool:
        """Whether it names a place."""
        return bool(self.env or self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The settings of Spark's cluster: `flow.cluster.<key>`. The defaults by kind of master are in `masters.py`."""

    master: str | None = setting(
        MASTER, "Where Spark runs tasks; `--master` overrides it.", otherwise="all cores of this machine"
    )
    driver_host: str | None = setting(
        STRING, "The address at which executors reach this machine.", otherwise=_OF_MASTER
    )
    driver_bind_address: str | None = setting(
        STRING, "The address on which Spark's driver listens.", otherwise=_OF_MASTER
    )
    driver_port: int | None = setting(PORT, "The port of Spark's driver.", otherwise=_OF_MASTER)
    block_manager_port: int | None = setting(
        PORT, "The port from which executors fetch blocks of the driver.", otherwise=_OF_MASTER
    )
    authenticate: bool | None = setting(
        BOOLEAN, "Whether the driver and executors prove to each other that they know a secret.", otherwise=_OF_MASTER
    )
    encrypt: bool | None = setting(
        BOOLEAN, "Whether connections and temporary files of Spark are encrypted.", otherwise=_OF_MASTER
    )
    secret: SecretPlace = section(SecretPlace)
    driver_memory: MemorySize | None = setting(SIZE, "The memory of the driver's Java process.", otherwise=_OF_MASTER)
    cores_max: int | None = setting(
        POSITIVE,
        "How many cores of a standalone cluster the application uses; isolated drivers share them.",
        otherwise="all",
    )
    executors: int | None = setting(POSITIVE, "How many executors the application has.", otherwise=_OF_MASTER)
    executor_cores: int | None = setting(POSITIVE, "How many tasks an executor runs at once.", otherwise=_OF_MASTER)
    executor_memory: MemorySize | None = setting(
        SIZE, "The memory of an executor's Java process.", otherwise=_OF_MASTER
    )
    task_failures: int | None = setting(
        POSITIVE, "How often a task may fail before its query fails.", otherwise=_OF_MASTER
    )
    shuffle_partitions: int | None = setting(
        POSITIVE, "How many partitions a shuffle has; a checkpoint with state keeps its number.", otherwise=_OF_MASTER
    )
    modules: Modules | None = setting(
        _MODULES,
        "How the application's modules reach executors: from a shared directory, as files of Spark, or in their image.",
        otherwise=_OF_MASTER,
    )
    environment: str | None = setting(STRING, "An archive with the Python environment of the executors (`.tar.gz`).")
    shared: tuple[str, ...] | None = setting(
        STRINGS, "The directories that this machine and all executors share.", otherwise="not known"
    )
    start_timeout: Duration = setting(DURATION, "How long a start waits for the master and for executors.", "2 minutes")
    executor_patience: Duration = setting(
        TIME_LIMIT, "How long a batch may wait without any executor before Spark is started again.", "1 minute"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationSettings:
    """The settings of an application: `flow.<key>`."""

    application: str | None = setting(
        STRING, "The name of the application and of its state directory.", otherwise="the blueprint's directory"
    )
    channel: str = setting(STRING, "The channel of topics that do not set their own.", "delta")
    isolation: Isolation = setting(_ISOLATION, "Whether streamlets share one Spark, or have a process each.", "none")
    resources: Resources = setting(
        _RESOURCES,
        "Whether a run creates missing topics and keeps them, also deletes topics and checkpoints after a clean end of "
        "all streamlets, or does neither.",
        "keep",
    )
    fuse: str = setting(choice("auto", "off"), "Whether topics with `durable = false` are fused if possible.", "auto")
    state_access: Access = setting(_ACCESS, "Who may read the state directory of the application.", "owner")
    metrics: MetricsSettings = section(MetricsSettings)
    telemetry: TelemetrySettings = section(TelemetrySettings)
    cluster: ClusterSettings = section(ClusterSettings)
    kubernetes: KubernetesSettings = section(KubernetesSettings)
    spark: Mapping[str, str] = options(
        SPARK_OPTIONS, "Spark settings of the whole application; the prefix `spark.` is optional.", key="runtimes.spark"
    )


RETRY_OPTIONS = "pstl.retry."
"""The prefix of PSTL's options of a query that set its `Retry`; as settings of a job they are below `spark.`."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The restart settings of a failed unit: `retry.<key>`. The formula is in `runner/supervision/backoff.py`."""

    enabled: bool = setting(BOOLEAN, "Whether a failed unit is restarted.", "true")
    max_attempts: int = setting(WHOLE, "How often a unit is restarted before it fails for good.", "2147483647")
    min_backoff: Duration = setting(
        BACKOFF, "Wait before the first restart; it doubles with each further restart.", "1 second"
    )
    max_backoff: Duration = setting(BACKOFF, "The longest wait before a restart.", "1 hour")
    random_factor: float = setting(NUMBER, "Jitter: up to this fraction of a wait is added to it at random.", "0")
    stable_period: Duration = setting(
        DURATION, "How long a unit must run until its restarts are forgotten.", "60 seconds"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonSettings:
    """The settings of one streamlet (`flow.streamlets.<ref>.<key>`) or of all of an application (`flow.<key>`)."""

    trigger: Trigger | None = setting(TRIGGER, "When queries read new records, unless a query sets its own trigger.")
    retry: Retry = section(Retry)
    stuck_after: Duration = setting(TIME_LIMIT, "How long a batch runs before it is reported as stuck.", "10 minutes")
    on_stuck: OnStuck = setting(
        _ON_STUCK,
        "What happens when a streamlet is stuck: it is only reported, or also interrupted and started again.",
        "report",
    )
    patience: Duration = setting(
        TIME_LIMIT, "How long records may wait without a committed batch before a streamlet is overdue.", "2 minutes"
    )
    on_start_timeout: Duration = setting(
        TIME_LIMIT, "How long `on_start` of a logic may take, before the start has failed.", "1 minute"
    )
    on_stop_timeout: Duration = setting(
        TIME_LIMIT, "How long `on_stop` of a logic may take, before the streamlet has failed.", "30 seconds"
    )
    end: End = setting(
        _END,
        "When streamlets end: only on request, or also when all their producers have ended and they have read all that "
        "these wrote.",
        "on-request",
    )

    @property
    def ends_with_producers(self) -> bool:
        """Whether streamlets end when their producers have."""
        return self.end == "when-producers-end"

    @property
    def restarts_stuck(self) -> bool:
        """Whether streamlets that are stuck are started again."""
        return self.on_stuck == "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamletSettings(CommonSettings):
    """The settings of a streamlet: `flow.streamlets.<ref>.<key>`.

    Arguments:
        retry_set: the fields of `retry` that are set. They override the options of a query in the code.
    """

    spark: Mapping[str, str] = options(SPARK_OPTIONS, "Spark settings of the streamlet's session.")
    queries: Mapping[str, Trigger] = by_name(
        TRIGGER, "When one of its queries reads new records.", key="queries.<query>.trigger"
    )
    group: str | None = setting(
        LABEL, "The group that shares a driver process with `isolation = process`.", otherwise="the streamlet's name"
    )
    replicas: int | None = setting(
        REPLICAS,
        "How many tasks of Spark work side by side on a batch of the streamlet.",
        otherwise="as many as its sources have partitions and the machine has cores",
    )
    source_evolution: bool = setting(BOOLEAN, "Whether inlets may be added or removed on a checkpoint.", "true")
    retry_set: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InletSettings:
    """The settings of an inlet: `flow.streamlets.<ref>.inlets.<port>.<key>`."""

    max_records: int | None = setting(
        POSITIVE, "How many records a batch reads, in whole commits: one commit at least, more as long as they fit."
    )
    starting: Starting = setting(_STARTING, "Where a new reader begins.", "earliest")
    sequential: bool = setting(
        BOOLEAN,
        "Whether the streamlet starts only when all producers of the inlet's topic have ended.",
        "false",
        elsewhere=("sequentialModeEnabled", "sequential-mode-enabled"),
    )
    sync_open: bool = setting(
        BOOLEAN,
        "Whether the streamlet starts only when all producers of the inlet's topic have opened.",
        "false",
        elsewhere=("syncConnectionsOpen", "sync-connections-open"),
    )
    open_timeout: Duration = setting(
        DURATION,
        "How long the streamlet waits for a producer of the inlet's topic to open, with `sync-open` for all of them, "
        "before it fails. With 0 it does not wait for one, and with `sync-open` it waits without a limit.",
        "0 seconds",
        elsewhere=("portOpenTimeoutMs", "port-open-timeout-ms"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutletSettings:
    """The settings of an outlet: `flow.streamlets.<ref>.outlets.<port>.<key>`; None where the class decides."""

    on_invalid: OnInvalid | None = setting(
        _ON_INVALID,
        "What happens to a row that breaks the schema: the query fails, or the row goes to the dead letters.",
        otherwise=_OF_CLASS,
    )
    extra: Extra | None = setting(
        _EXTRA,
        "What happens to columns that the schema does not have: the query is refused, or they are dropped.",
        otherwise=_OF_CLASS,
    )
    partition_by: tuple[str, ...] | None = setting(
        STRINGS,
        "The columns, or SQL expressions, by which its records belong together.",
        otherwise=_OF_CLASS,
        columns=True,
    )
    open_timeout: Duration = setting(
        DURATION,
        "How long the streamlet waits, before each start, for the channel of the outlet's topic to accept records, "
        "before it fails. With 0 it does not wait.",
        "0 seconds",
        elsewhere=("portOpenTimeoutMs", "port-open-timeout-ms"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """The settings of a topic on every channel: `flow.topics.<id>.<key>`."""

    channel: str | None = setting(STRING, "The channel that stores the topic.", otherwise="the value of `flow.channel`")
    managed: bool = setting(BOOLEAN, "Whether the application creates the topic.", "true")
    durable: bool = setting(BOOLEAN, "Whether it stores its records in any case; otherwise it may be fused.", "true")
    name: str | None = setting(STRING, "The topic's name on its channel.", key="topic.name", otherwise="the topic's id")


TOPIC_OPTIONS = Setting("topic", OPTIONS, "Settings of the topic, as its channel names them.", scope=Scope.TOPIC)
"""A group of settings whose keys channels define; the plan has them among the options of the topic."""

_OTHER_SETTINGS = (
    TOPIC_OPTIONS,
    Setting("spark.packages", STRINGS, "Maven packages for Spark: `group:artifact:version`."),
    Setting("spark.jars", STRINGS, "Jars and directories of jars for Spark."),
    Setting("verify.rules.<code>", choice(*LEVELS), "The level of findings with the code in `flow verify`."),
    Setting("parameters", OBJECT, "Values of the streamlet's config parameters, by key.", scope=Scope.STREAMLET),
    Setting("volume-mounts", OBJECT, "The directory of each of the streamlet's volume mounts.", scope=Scope.STREAMLET),
    Setting("inlets.<port>", SCHEMA, "The inlet's schema, if its class does not set it.", scope=Scope.STREAMLET),
    Setting("outlets.<port>", SCHEMA, "The outlet's schema, if its class does not set it.", scope=Scope.STREAMLET),
    Setting(
        "schema", SCHEMA, "The inlet's schema, if its class does not set it, next to other settings of the inlet.",
        scope=Scope.INLET,
    ),
    Setting(
        "schema", SCHEMA, "The outlet's schema, if its class does not set it, written as a block.", scope=Scope.OUTLET
    ),
)  # fmt: skip
"""Settings whose meaning depends on more than their value, such as the class of a streamlet or a directory."""


def _for_one_streamlet(setting: Setting) -> Setting:
    return replace(setting, scope=Scope.STREAMLET, doc=f"{setting.doc[:-1]}, for this streamlet.", default="")


_COMMON = settings_of(CommonSettings, Scope.APPLICATION)

SETTINGS: tuple[Setting, ...] = (
    *settings_of(ApplicationSettings, Scope.APPLICATION),
    *_COMMON,
    *map(_for_one_streamlet, _COMMON),
    *settings_of(StreamletSettings, Scope.STREAMLET),
    *settings_of(InletSettings, Scope.INLET),
    *settings_of(OutletSettings, Scope.OUTLET),
    *settings_of(TopicSettings, Scope.TOPIC),
    *_OTHER_SETTINGS,
)
"""All of them."""


@cache
def setting_tree() -> SettingNode:
    """Return them as a tree; its root is `flow`."""
    return tree_of(SETTINGS)


def setting_of(path: Sequence[str]) -> Setting | None:
    """Return the setting at a path below `flow`; None when the path is a section or not a setting."""
    node = setting_tree().inner(*path)
    return node.setting if node is not None else None
