"""The ConfigMap of a deployment: the blueprint, files of settings, and the settings that only its pods have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from streamlets.kubernetes.deployment import (
    CONFIGURATION,
    STATE,
    ConfigFile,
    Deployment,
    ManifestError,
    digest,
)
from streamlets.kubernetes.executor_template import EXECUTOR_FILE, executor_template
from streamlets.kubernetes.labels import metadata
from streamlets.kubernetes.yaml import Node, to_yaml

KUBERNETES_FILE = "kubernetes.conf"
"""The settings of pods, which come after all others."""

_LARGEST = 1024**2
_UNUSABLE = re.compile(r"[^-._a-zA-Z0-9]+")


def config_map(deployment: Deployment) -> dict[str, Node]:
    """Return the ConfigMap. Pods of an older version keep the one that they name, so each content has its own.

    Raises:
        ManifestError: the files are too large.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(deployment, configuration_name(deployment)),
        "immutable": True,
        "data": dict(_texts(deployment)),
    }


def configuration_name(deployment: Deployment) -> str:
    """Return the name of the ConfigMap, which is different for each content.

    Raises:
        ManifestError: the files are too large.
    """
    texts = _texts(deployment)
    size = sum(len(text.encode()) for text in texts.values())
    if size > _LARGEST:
        raise ManifestError(
            f"the blueprint and the files of settings have {size:,} bytes, and a ConfigMap at most {_LARGEST:,}",
            "put parts of them into files that the blueprint includes: these are in the image",
        )
    return f"{deployment.name}-{digest(texts)}"


def configuration_mounts(deployment: Deployment) -> Iterator[dict[str, Node]]:
    """Yield where the pod of a run has the files of the ConfigMap."""
    paths = [(key, str(file.path)) for key, file in _named_files(deployment)]
    paths += [(KUBERNETES_FILE, str(CONFIGURATION / KUBERNETES_FILE))]
    if deployment.executors and not deployment.operated:
        paths += [(EXECUTOR_FILE, str(CONFIGURATION / EXECUTOR_FILE))]
    for key, path in paths:
        yield {"name": "configuration", "mountPath": path, "subPath": key, "readOnly": True}


def _texts(deployment: Deployment) -> dict[str, str]:
    """Return the content of the ConfigMap by key."""
    texts = {key: file.text for key, file in _named_files(deployment)}
    texts[KUBERNETES_FILE] = pod_settings(deployment)
    if deployment.executors and not deployment.operated:
        texts[EXECUTOR_FILE] = to_yaml(executor_template(deployment))
    return texts


def _named_files(deployment: Deployment) -> Iterator[tuple[str, ConfigFile]]:
    """Yield the files of the application with their keys in the ConfigMap."""
    yield _key(deployment.blueprint.path.name), deployment.blueprint
    for number, file in enumerate(deployment.conf, start=1):
        yield f"{number}-{_key(file.path.name)}", file


def _key(name: str) -> str:
    return _UNUSABLE.sub("-", name)


def pod_settings(deployment: Deployment) -> str:
    """Return the settings that only pods have, as HOCON. Settings of Spark in the application stay as they are."""
    own = deployment.plan.settings
    lines = ["# Settings of the pods. They come after the application's own.", ""]
    lines += [_line("flow.application", deployment.plan.name, "the image has the application in another directory")]
    lines += [_line("flow.metrics.port", deployment.metrics_port, "for probes")]
    lines += [_line("flow.metrics.host", deployment.metrics_host, "the kubelet asks from outside of the pod")]
    if deployment.operated:
        lines += [_line("flow.cluster.shared", _shared(deployment), "volumes of all pods")]
        return "".join(f"{line}\n" for line in lines)
    if deployment.sparks and own.cluster.driver_memory is None and "spark.driver.memory" not in own.spark:
        share = "half" if deployment.sparks == 1 else f"half, for {deployment.sparks} drivers"
        note = f"flow.kubernetes.memory: {share}; Python has the rest"
        lines += [_line("flow.cluster.driver-memory", f"{deployment.heap}m", note)]
    if deployment.executors:
        lines += [_line(f"flow.cluster.{key}", value, note) for key, value, note in _cluster(deployment)]
        given = ((key, value, note) for key, value, note in _spark(deployment) if key not in own.spark)
        lines += [_line(f'flow.runtimes.spark."{key}"', value, note) for key, value, note in given]
    return "".join(f"{line}\n" for line in lines)


def _line(key: str, value: object, note: str) -> str:
    written = value.hocon if isinstance(value, _Substituted) else json.dumps(value, ensure_ascii=False)
    return f"{key} = {written}  # {note}"


class _Substituted:
    """A value with environment variables of the pod."""

    def __init__(self, hocon: str) -> None:
        self.hocon = hocon


def _cluster(deployment: Deployment) -> Iterator[tuple[str, object, str]]:
    """Yield the settings `flow.cluster` of a run with executors: key, value, and where it comes from."""
    settings = deployment.settings
    yield "driver-host", _Substituted("${POD_IP}"), "executors end with the pod, so its address is enough"
    for port in deployment.driver_ports:
        yield port.key, port.first, "the NetworkPolicy lets executors connect to it"
    yield "executors", settings.executors, "flow.kubernetes.executors"
    yield "executor-cores", settings.executor_cpu, "flow.kubernetes.executor-cpu"
    yield "executor-memory", f"{deployment.executor_heap}m", "flow.kubernetes.executor-memory: 60 %"
    yield "shared", _shared(deployment), "volumes of all pods"


def _shared(deployment: Deployment) -> list[str]:
    return [str(STATE), *map(str, deployment.outputs), *sorted(deployment.settings.volumes.values())]


def _spark(deployment: Deployment) -> Iterator[tuple[str, object, str]]:
    """Yield the settings of Spark of a run with executors: key, value, and where it comes from."""
    yield "spark.kubernetes.namespace", _Substituted("${POD_NAMESPACE}"), "the namespace of the run"
    yield "spark.kubernetes.driver.pod.name", _Substituted("${POD_NAME}"), "Kubernetes deletes executors with it"
    yield "spark.kubernetes.container.image", deployment.image, "flow.kubernetes.image"
    yield "spark.kubernetes.executor.podTemplateFile", str(CONFIGURATION / EXECUTOR_FILE), "next to this file"
    yield "spark.kubernetes.executor.podTemplateContainerName", "executor", "its container"
    memory = deployment.settings.executor_memory.bytes // 1024**2
    yield "spark.executor.memoryOverhead", f"{memory - deployment.executor_heap}m", "the rest, for Python"
    claim = _Substituted('"state-"${POD_NAME}') if deployment.form == "statefulset" else deployment.claim
    volumes = [("state", STATE, ""), *deployment.output_volumes()]
    for name, path, on_volume in volumes:
        volume = f"spark.kubernetes.executor.volumes.persistentVolumeClaim.{name}"
        yield f"{volume}.options.claimName", claim, "executors read and write what the run does"
        yield f"{volume}.mount.path", str(path), "as in the pod of the run"
        if on_volume:
            yield f"{volume}.mount.subPath", on_volume, "the directory on the volume"
