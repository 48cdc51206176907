"""The kustomization, which names the files of objects and keeps variables in step with what kustomize changes."""

from __future__ import annotations

from collections.abc import Iterable

from streamlets.kubernetes.configuration import IMAGE_VARIABLE, SERVICE_VARIABLE
from streamlets.kubernetes.deployment import Deployment
from streamlets.kubernetes.pods import CONTAINER
from streamlets.kubernetes.yaml import Node

_KINDS = {"statefulset": ("StatefulSet", "spec.template.spec"), "job": ("Job", "spec.template.spec")}
_CRON_JOB = ("CronJob", "spec.jobTemplate.spec.template.spec")


def kustomization(deployment: Deployment, files: Iterable[str]) -> dict[str, Node]:
    """Return the kustomization.

    Arguments:
        deployment: what is deployed.
        files: the files of objects.
    """
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(files),
        **({"replacements": _replacements(deployment)} if deployment.executors else {}),
    }


def _replacements(deployment: Deployment) -> list[Node]:
    """Return where the image of executors and the name of the Service come from: `images`, `namePrefix` change both."""
    kind, pod = _CRON_JOB if deployment.settings.schedule else _KINDS[deployment.form]
    container = f"{pod}.containers.[name={CONTAINER}]"

    def replacement(source: dict[str, Node], variable: str) -> Node:
        path = f"{container}.env.[name={variable}].value"
        return {"source": source, "targets": [{"select": {"kind": kind}, "fieldPaths": [path]}]}

    image: dict[str, Node] = {"kind": kind, "fieldPath": f"{container}.image"}
    service: dict[str, Node] = {"kind": "Service", "fieldPath": "metadata.name"}
    return [replacement(image, IMAGE_VARIABLE), replacement(service, SERVICE_VARIABLE)]
