"""Rules about Spark's cluster: requirements of an application, from its settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from blueprint.core_settings import ApplicationSettings, ClusterSettings
from blueprint.diagnostics import Diagnostic, Label, Severity, Span, finding
from blueprint.hocon.values import Scalar, Value, key_span_of, span_of
from blueprint.loopback import is_loopback
from blueprint.masters import DEFAULTS, Kind, Master, default_of, master_of
from blueprint.model.draft import Draft
from blueprint.plan import STATE_DIRECTORY
from blueprint.quantities import QuantityError, memory_size
from blueprint.settings.values import application_settings, spark_scalars, streamlet_settings
from blueprint.spelling import listing
from blueprint.verification.rules.directories import written_directories
from blueprint.verification.rules.settings import real_time_setting
from blueprint.wording import counted

_MASTER, _CORES, _HOST, _SECRET = "spark.master", "spark.cores.max", "spark.driver.host", "spark.authenticate.secret"
_INSTANCES, _EXECUTOR_CORES = "spark.executor.instances", "spark.executor.cores"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster of an application.

    Arguments:
        master: its master, which is not in the process of the driver.
        place: the place that sets the master.
        settings: `flow.cluster`.
        spark: the application's settings of Spark, which take precedence.
        drivers: how many drivers the application has there.
    """

    master: Master
    place: Span
    settings: ClusterSettings
    spark: dict[str, Scalar]
    drivers: int

    @property
    def cores(self) -> int | None:
        """How many tasks all drivers run at once; None if the settings do not say it."""
        if self.master.kind == "standalone":
            limit = _whole(self.spark, _CORES) or self.settings.cores_max
            if limit is not None:
                return limit
        executors = _whole(self.spark, _INSTANCES) or self.settings.executors or _default("executors", self.master.kind)
        each = (
            _whole(self.spark, _EXECUTOR_CORES)
            or self.settings.executor_cores
            or _default("executor_cores", self.master.kind)
        )
        return executors * each * (self.drivers if self.master.kind != "standalone" else 1) or None


def cluster_of(draft: Draft) -> Cluster | None:
    """Return the cluster of an application; None if Spark runs in the driver's process, or a setting is invalid."""
    if draft.misfits:
        return None
    settings, spark = application_settings(draft.settings), spark_scalars(draft.settings.get("runtimes", "spark"))
    place: Value | None = spark.get(_MASTER) or draft.settings.get("cluster", "master")
    if not isinstance(place, Scalar):
        return None
    try:
        master = master_of(place.text)
    except ValueError:
        return None
    if master.kind == "local":
        return None
    return Cluster(master, span_of(place), settings.cluster, spark, _drivers(draft, settings))


def driver_addresses(draft: Draft) -> Iterator[Diagnostic]:
    """Executors on other machines know an address of the driver, which is not one of the loopback interface."""
    cluster = cluster_of(draft)
    if cluster is None or cluster.master.on_loopback:
        return
    own = cluster.spark.get(_HOST) or draft.settings.get("cluster", "driver-host")
    host = own.text if isinstance(own, Scalar) else ""
    if own is not None and not is_loopback(host):
        return
    yield finding(
        "driver-address",
        f"executors of `{cluster.master.url}` cannot reach the driver at `{host}`"
        if own is not None
        else f"executors of `{cluster.master.url}` do not know the address of the driver",
        cluster.place if own is None else span_of(own),
        also=[Label(cluster.place, "executors run on other machines")] if own is not None else (),
        causes=["executors connect to the driver, which runs in the runner"],
        help=["set `flow.cluster.driver-host` to the address of this machine in the network of the cluster"],
    )


def contradictions(draft: Draft) -> Iterator[Diagnostic]:
    """A setting of the cluster and Spark's own setting have the same value: Spark's own takes precedence."""
    spark = spark_scalars(draft.settings.get("runtimes", "spark")) if not draft.misfits else {}
    rows = [("master", (_MASTER,)), *((row.key, row.spark) for row in DEFAULTS)]
    for key, names in rows:
        ours = draft.settings.get("cluster", key)
        for name in names:
            theirs = spark.get(name)
            if isinstance(ours, Scalar) and theirs is not None and _plain(ours.text) != _plain(theirs.text):
                yield finding(
                    "cluster-contradiction",
                    f"`flow.cluster.{key}` has no effect",
                    key_span_of(ours),
                    also=[Label(span_of(theirs), f"`{name}` is `{theirs.text}`")],
                    causes=["settings in `flow.runtimes.spark` take precedence"],
                    help=["remove one of them"],
                )


def secrets(draft: Draft) -> Iterator[Diagnostic]:
    """A standalone cluster on the network has a secret, which is in one place."""
    cluster = cluster_of(draft)
    if cluster is None:
        return
    place = cluster.settings.secret
    if place.env and place.file:
        yield finding(
            "cluster-secret",
            "the secret of the cluster is in two places",
            _set(draft, cluster, "secret", "file"),
            also=[Label(_set(draft, cluster, "secret", "env"), "the other one")],
            help=["remove one of them"],
        )
    if cluster.master.kind != "standalone" or place.is_set or _SECRET in cluster.spark:
        return
    wanted = cluster.spark.get("spark.authenticate") or draft.settings.get("cluster", "authenticate")
    if isinstance(wanted, Scalar) and wanted.text == "true":
        yield finding(
            "cluster-secret",
            "Spark authenticates connections, but the secret of the cluster is not set",
            span_of(wanted),
            causes=["a standalone master has a secret of its own, which the driver must know"],
            help=["set `flow.cluster.secret.env = NAME`, or `flow.cluster.secret.file = PATH`"],
        )
    elif wanted is None and not cluster.master.on_loopback:
        yield finding(
            "cluster-open",
            f"connections with `{cluster.master.url}` are not authenticated",
            cluster.place,
            causes=["everybody who reaches the driver, the master or an executor can run code there"],
            help=[
                "start the master and the workers with `spark.authenticate`, and set `flow.cluster.secret.env = NAME`",
                "if only the cluster reaches them, set `flow.cluster.authenticate = false`",
            ],
        )


@dataclass(frozen=True, slots=True)
class _Needed:
    """A path that executors need.

    Arguments:
        what: what is there.
        path: the absolute path.
        place: what sets it; None if nothing does.
        required: whether executors cannot do without it.
        refs: the streamlets whose it is.
    """

    what: str
    path: PurePath
    place: Span | None
    required: bool = True
    refs: tuple[str, ...] = ()


def shared_paths(draft: Draft) -> Iterator[Diagnostic]:
    """Executors on other machines see the directories of the application."""
    cluster = cluster_of(draft)
    if cluster is None or cluster.master.on_loopback or not _on_spark(draft):
        return
    base, shared = Path(os.path.realpath(draft.blueprint.directory)), cluster.settings.shared
    roots = [PurePath(os.path.realpath(base / root)) for root in shared or ()]
    outside = [
        need for need in _needed(draft, cluster, base) if not any(need.path.is_relative_to(root) for root in roots)
    ]
    if outside and shared is None:
        paths = dict.fromkeys(f"{need.what}, {_shown(need.path, base)}" for need in outside)
        yield finding(
            "cluster-path",
            "executors on other machines may not see the directories of the application",
            cluster.place,
            causes=list(paths),
            help=["mount a shared file system at the same path everywhere, and set `flow.cluster.shared = [PATH]`"],
            streamlets={ref for need in outside for ref in need.refs},
            severity=Severity.WARNING,
        )
        return
    for need in outside:
        yield finding(
            "cluster-path",
            f"executors do not see {need.what}, {_shown(need.path, base)}",
            need.place or cluster.place,
            also=[Label(_set(draft, cluster, "shared"), "the shared directories")],
            help=["choose a path in a shared directory"],
            streamlets=need.refs,
            severity=None if need.required else Severity.WARNING,
        )


def _shown(path: PurePath, base: Path) -> str:
    """Return a path, relative to the directory of the blueprint if it is inside."""
    if path == base:
        return "next to the blueprint"
    return f"`{path.relative_to(base)}`" if path.is_relative_to(base) else f"`{path}`"


def _needed(draft: Draft, cluster: Cluster, base: Path) -> Iterator[_Needed]:
    root = draft.state_root or base / STATE_DIRECTORY
    local = [id for id, topic in draft.topics.items() if not topic.location]
    what = "the state directory (topics and checkpoints)" if local else "the state directory (checkpoints)"
    yield _Needed(what, PurePath(os.path.realpath(root)), None, required=bool(local))
    if (cluster.settings.modules or default_of("modules", cluster.master.kind)) == "shared":
        yield _Needed("the modules of the application", base, None)
    for directory in written_directories(draft, checkpoints=False):
        yield _Needed(f"the directory of `{directory.ref}`", directory.path, directory.place, refs=directory.streamlets)
    for directory in written_directories(draft, checkpoints=True):
        yield _Needed(
            f"the checkpoint of `{directory.ref}`", directory.path, directory.place, refs=directory.streamlets
        )


def cores(draft: Draft) -> Iterator[Diagnostic]:
    """Every driver gets a core, and queries in real-time mode, which keep their cores, leave one for the others."""
    cluster = cluster_of(draft)
    if cluster is None:
        return
    cores = cluster.cores
    if cluster.master.kind == "standalone" and cluster.drivers > 1 and cores is None:
        yield finding(
            "cluster-cores",
            f"{counted(cluster.drivers, 'driver')} would wait for each other's cores",
            cluster.place,
            causes=[
                "each isolated driver is an application of its own, and the first one takes all cores of the cluster"
            ],
            help=["set `flow.cluster.cores-max`, which the drivers share", "remove `isolation = process`"],
        )
    elif cores is not None and cluster.drivers > cores:
        yield finding(
            "cluster-cores",
            f"{counted(cluster.drivers, 'driver')} share {counted(cores, 'core')}",
            _set(draft, cluster, "cores-max"),
            causes=["each isolated driver is an application of its own, which needs a core at least"],
            help=["raise `flow.cluster.cores-max`", "put streamlets into the same group with `group`"],
        )
    elif cores is not None and cluster.drivers <= 1:
        yield from _slots(draft, cluster, cores)


def _slots(draft: Draft, cluster: Cluster, cores: int) -> Iterator[Diagnostic]:
    """Yield the streamlets for which one Spark has too few cores."""
    on_spark = _on_spark(draft)
    real_time = [ref for ref in on_spark if real_time_setting(draft, ref) is not None]
    needed = len(real_time) + (len(real_time) < len(on_spark))
    if real_time and needed > cores:
        place = real_time_setting(draft, real_time[0])
        yield finding(
            "cluster-cores",
            f"the application needs {counted(needed, 'core')} at least, and `{cluster.master.url}` has "
            f"{counted(cores, 'core')} for it",
            _set(draft, cluster, "cores-max"),
            also=[Label(key_span_of(place), "keeps its cores")] if place is not None else (),
            causes=[f"{listing(real_time)} {'has' if len(real_time) == 1 else 'have'} a real-time trigger"],
            help=["raise `flow.cluster.cores-max`, or the number of executors", "use a `processing-time` trigger"],
            streamlets=real_time,
        )
    for ref in on_spark:
        replicas, place = (
            streamlet_settings(draft.settings, ref).replicas,
            draft.settings.get("streamlets", ref, "replicas"),
        )
        if replicas is not None and place is not None and replicas > cores:
            yield finding(
                "cluster-cores",
                f"`{ref}` has {counted(replicas, 'replica')}, but Spark runs {counted(cores, 'task')} at the same time",
                key_span_of(place),
                help=["raise `flow.cluster.cores-max` or the number of executors, or lower `replicas`"],
                streamlets=(ref,),
                severity=Severity.WARNING,
            )


def _on_spark(draft: Draft) -> list[str]:
    return [ref for ref, descriptor in draft.descriptors() if descriptor.kind.on_spark]


def _drivers(draft: Draft, settings: ApplicationSettings) -> int:
    refs = _on_spark(draft)
    if settings.isolation == "none":
        return min(1, len(refs))
    return len({streamlet_settings(draft.settings, ref).group or ref for ref in refs})


def _set(draft: Draft, cluster: Cluster, *path: str) -> Span:
    """Return the place of a setting of the cluster; the place of the master if it is not set."""
    value = draft.settings.get("cluster", *path)
    return span_of(value) if value is not None else cluster.place


def _whole(spark: dict[str, Scalar], name: str) -> int:
    """Return a number among Spark's settings; 0 if it is not set, or not a number."""
    text = spark[name].text if name in spark else ""
    return int(text) if text.isascii() and text.isdigit() else 0


def _default(field: str, kind: Kind) -> int:
    return int(default_of(field, kind) or 0)


def _plain(text: str) -> str:
    """Return a value in one notation: sizes are written in different ways."""
    try:
        return str(memory_size(text))
    except QuantityError:
        return text.strip().lower()
