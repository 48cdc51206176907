"""`Deployment`: what is deployed, and the quantities of its pods; all objects are functions of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal, get_args

from blueprint.kubernetes_settings import KubernetesSettings
from blueprint.loopback import is_loopback
from blueprint.masters import default_of
from blueprint.plan import ApplicationPlan
from blueprint.quantities import MemorySize

Form = Literal["statefulset", "job", "kubeflow", "apache"]
"""What runs the application: a StatefulSet, a Job or CronJob for bounded runs, or one of two operators for Spark."""

FORMS: tuple[Form, ...] = get_args(Form)

APPLICATION = PurePosixPath("/app")
"""The directory of the blueprint in the image."""

CONFIGURATION = PurePosixPath("/etc/streamlets")
"""The directory of files of settings that are not below the directory of the blueprint."""

STATE = PurePosixPath("/state")
"""The parent of the state directory: the volume."""

METRICS_PORT = 9464
SPARK_STOP = 20
"""Seconds that Spark takes to stop after a drain, at most: queries that do not end have 10 of them."""

MARGIN = 10
"""Seconds for the exit of Python and the end of the pod."""

_MIB = 1024**2
_SMALLEST_HEAP = 512


class ManifestError(Exception):
    """An application that cannot be deployed as its settings say.

    Arguments:
        message: the mistake.
        help: the remedy.
    """

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file of settings that pods get.

    Arguments:
        path: its path in pods.
        text: its content.
    """

    path: PurePosixPath
    text: str


@dataclass(frozen=True, slots=True)
class DriverPort:
    """A port at which executors reach a driver. Spark takes the next one if it is in use.

    Arguments:
        name: of the port, in the pod.
        key: of the setting below `flow.cluster`.
        first: the port of the first driver.
    """

    name: str
    key: str
    first: int

    @property
    def last(self) -> int:
        """The last port that a driver may have: Spark tries 16 more (`spark.port.maxRetries`)."""
        return self.first + 16


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What is deployed.

    Arguments:
        plan: the application.
        form: what runs it.
        blueprint: its file.
        conf: files of settings, in the order of `--conf`.
        arguments: `key=value` settings.
        outputs: directories in pods, apart from the state, that the application writes and that are on its volume.
    """

    plan: ApplicationPlan
    form: Form
    blueprint: ConfigFile
    conf: tuple[ConfigFile, ...] = ()
    arguments: tuple[str, ...] = ()
    outputs: tuple[PurePosixPath, ...] = ()

    @property
    def settings(self) -> KubernetesSettings:
        """The settings of the manifests."""
        return self.plan.settings.kubernetes

    @property
    def name(self) -> str:
        """The name of the objects."""
        return self.settings.name or self.plan.name

    @property
    def image(self) -> str:
        """The image of all pods."""
        return self.settings.image or f"{self.name}:latest"

    @property
    def bounded(self) -> bool:
        """Whether a run ends when all available data is processed."""
        return self.form == "job"

    @property
    def operated(self) -> bool:
        """Whether an operator for Spark creates the pods."""
        return self.form in ("kubeflow", "apache")

    @cached_property
    def sparks(self) -> int:
        """The number of Sparks: of drivers, each of which is an application of its own for a cluster."""
        groups = {one.settings.group or one.ref for one in self.plan.streamlets if one.kind.on_spark}
        return len(groups) if self.plan.settings.isolation == "process" else min(1, len(groups))

    @property
    def executors(self) -> int:
        """The number of pods of executors that each Spark has; 0 if tasks run in the pod of the run."""
        return self.settings.executors if self.sparks else 0

    @property
    def heap(self) -> int:
        """The memory of each Java process in the pod of the run, in MiB: together half of the memory of the pod."""
        return self.settings.memory.bytes // _MIB // 2 // max(1, self.sparks)

    @property
    def executor_heap(self) -> int:
        """The memory of the Java process of an executor, in MiB; its Python processes have the rest."""
        return self.settings.executor_memory.bytes // _MIB * 6 // 10

    @property
    def grace_seconds(self) -> int:
        """The seconds after which Kubernetes kills a pod that is to stop: a drain always ends before."""
        return -int(-self.settings.drain_timeout.seconds // 1) + SPARK_STOP + MARGIN

    @property
    def metrics_port(self) -> int:
        """The port of metrics and probes."""
        return self.plan.settings.metrics.port or METRICS_PORT

    @property
    def metrics_host(self) -> str:
        """The address of metrics and probes, which others in the cluster reach."""
        host = self.plan.settings.metrics.host
        return "0.0.0.0" if is_loopback(host) else host

    @property
    def driver_ports(self) -> tuple[DriverPort, ...]:
        """The ports at which executors reach drivers."""
        cluster = self.plan.settings.cluster
        driver = cluster.driver_port or int(default_of("driver_port", "kubernetes"))
        blocks = cluster.block_manager_port or int(default_of("block_manager_port", "kubernetes"))
        return (DriverPort("driver", "driver-port", driver), DriverPort("blocks", "block-manager-port", blocks))

    @property
    def listening(self) -> tuple[tuple[str, int], ...]:
        """The streamlets that listen on a port, and the ports."""
        return tuple(
            (streamlet.ref, port.port)
            for streamlet in self.plan.streamlets
            for port in streamlet.descriptor.external.listening
        )

    @property
    def claim(self) -> str:
        """The name of the volume claim for the state directory, or of its template."""
        return "state" if self.form == "statefulset" else f"{self.name}-state"

    def output_volumes(self) -> Iterator[tuple[str, PurePosixPath, str]]:
        """Yield a name, the directory in pods, and the directory on the volume of each output."""
        for number, path in enumerate(self.outputs, start=1):
            yield f"output-{number}", path, f"outputs/{path.relative_to(APPLICATION)}"

    def check(self) -> None:
        """Check what Kubernetes or Spark would refuse.

        Raises:
            ManifestError: a quantity or a name is not possible.
        """
        _check_name(self.name)
        if self.operated and (self.settings.executors == 0 or self.sparks != 1):
            raise ManifestError(
                "an operator for Spark runs one Spark with executors, and the application has "
                + (f"{self.sparks} Sparks" if self.sparks != 1 else "none"),
                "set `flow.kubernetes.executors`, and `flow.isolation = none`; a StatefulSet has no such limits",
            )
        self._check_memory()
        if self.settings.schedule and self.form != "job":
            raise ManifestError(
                "`flow.kubernetes.schedule` starts bounded runs, and a StatefulSet runs without an end",
                "write manifests with `--for job`, or remove the schedule",
            )
        if self.settings.executors and not self.sparks:
            raise ManifestError(
                f"`flow.kubernetes.executors` is {self.settings.executors}, and no streamlet needs Spark",
                "remove the setting",
            )

    def _check_memory(self) -> None:
        heaps = [("memory", self.settings.memory, self.heap)] if self.sparks else []
        if self.executors:
            heaps.append(("executor-memory", self.settings.executor_memory, self.executor_heap))
        for key, memory, heap in heaps:
            if heap < _SMALLEST_HEAP:
                needed = -(-memory.bytes * _SMALLEST_HEAP // max(1, heap) // _MIB)
                sparks = f" for {self.sparks} Sparks" if key == "memory" and self.sparks > 1 else ""
                raise ManifestError(
                    f"`flow.kubernetes.{key}` is {quantity(memory)}{sparks}, which leaves {heap} MiB for each Java "
                    f"process, and Spark needs {_SMALLEST_HEAP} MiB",
                    f"set it to {needed} MiB or more" + (", or put streamlets into groups" if sparks else ""),
                )


_LONGEST_NAME = 52
"""Kubernetes adds the hash of a revision to the name of a StatefulSet, and both are a label of its pods."""


def _check_name(name: str) -> None:
    fault = ""
    if not name.isascii() or not name.replace("-", "a").isalnum() or name != name.lower() or "-" in (name[0], name[-1]):
        fault = "names of objects have lower-case letters, digits and `-` between them"
    elif name[0].isdigit():
        fault = "names of services begin with a letter"
    elif len(name) > _LONGEST_NAME:
        fault = f"it has {len(name)} characters, and the names of pods leave room for {_LONGEST_NAME}"
    if fault:
        raise ManifestError(
            f"`{name}` cannot be the name of the objects in Kubernetes: {fault}",
            "set `flow.kubernetes.name`; the name of the application can stay",
        )


def quantity(size: MemorySize) -> str:
    """Return a size in the notation of Kubernetes, in the largest unit that is exact."""
    for power, unit in enumerate(("Ti", "Gi", "Mi", "Ki")):
        if size.bytes and size.bytes % 1024 ** (4 - power) == 0:
            return f"{size.bytes // 1024 ** (4 - power)}{unit}"
    return str(size.bytes)


def digest(texts: dict[str, str]) -> str:
    """Return ten characters that differ if the names or contents of files do."""
    content = "".join(f"{name}\0{len(text)}\0{text}" for name, text in sorted(texts.items()))
    return hashlib.sha256(content.encode()).hexdigest()[:10]
