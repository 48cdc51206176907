"""The settings of the manifests that `flow manifests` writes; as in `core_settings.py`, each is a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.quantities import Duration, MemorySize
from blueprint.setting import options, setting
from blueprint.setting_types import BOOLEAN, DURATION, LABEL, POSITIVE, SIZE, STRING, STRINGS, TEXTS, WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    """The settings of `flow manifests`: `flow.kubernetes.<key>`."""

    name: str | None = setting(LABEL, "The name of the objects.", otherwise="the name of the application")
    namespace: str | None = setting(LABEL, "The namespace of the objects.", otherwise="the namespace of kubectl")
    image: str | None = setting(STRING, "The image of all pods.", otherwise="the name, with the tag `latest`")
    base_image: str = setting(STRING, "The image that the Dockerfile begins with.", "python:3.11-slim-bookworm")
    cpu: int = setting(POSITIVE, "The number of cores of the pod of the run.", "2")
    memory: MemorySize = setting(SIZE, "The memory of the pod of the run.", "4 GiB")
    storage: MemorySize = setting(SIZE, "The size of the volume for the state directory.", "10 GiB")
    storage_class: str | None = setting(STRING, "The class of that volume.", otherwise="the default of the cluster")
    executors: int = setting(WHOLE, "How many pods of executors each Spark has; 0 for a Spark inside the pod.", "0")
    executor_cpu: int = setting(POSITIVE, "The number of cores of the pod of an executor.", "1")
    executor_memory: MemorySize = setting(SIZE, "The memory of the pod of an executor.", "2 GiB")
    service_account: str | None = setting(
        LABEL, "An existing service account for the pods.", otherwise="a service account of their own"
    )
    drain_timeout: Duration = setting(DURATION, "How long to wait for running batches when a pod stops.", "60 seconds")
    evictable: bool = setting(BOOLEAN, "Whether the pod may be moved when its node is emptied.", "true")
    schedule: str | None = setting(STRING, "When `--for job` starts runs, in the notation of cron.", otherwise="once")
    arguments: tuple[str, ...] | None = setting(STRINGS, "Further options of `flow run` in the pod.")
    variables: Mapping[str, str] = options(TEXTS, "Environment variables of the pods, which are not secrets.")
    secrets: Mapping[str, str] = options(
        TEXTS, "Environment variables of the pods from Secrets; each value is `<secret>/<key>`."
    )
    secret_volumes: Mapping[str, str] = options(TEXTS, "Secrets mounted as files: the directory of each, by its name.")
    volumes: Mapping[str, str] = options(TEXTS, "Existing volume claims: the directory of each, by its name.")
    labels: Mapping[str, str] = options(TEXTS, "Further labels of all objects.")
