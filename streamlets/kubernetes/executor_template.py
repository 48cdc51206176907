"""The pod template of executors, which Spark completes with its image, its resources and the volume of the state."""

from __future__ import annotations

from streamlets.kubernetes.containers import (
    INIT,
    claim_volume,
    container_security,
    further_mounts,
    further_volumes,
    pod_security,
    state_mounts,
    variables,
)
from streamlets.kubernetes.deployment import Deployment
from streamlets.kubernetes.labels import labels
from streamlets.kubernetes.yaml import Node, Noted

EXECUTOR_FILE = "executor.yaml"
"""The name of the template among the files of the ConfigMap."""


def executor_template(deployment: Deployment) -> dict[str, Node]:
    """Return the template. An operator does not know the volume of the state, so the template has it there."""
    mounts = state_mounts(deployment) if deployment.operated else ()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": labels(deployment, "executor")},
        "spec": {
            "automountServiceAccountToken": Noted(False, "only the run asks Kubernetes for something"),
            "securityContext": pod_security(),
            "containers": [
                {
                    "name": "executor",
                    "workingDir": Noted("/tmp", "Spark fetches jars and files into it"),
                    "command": [*INIT, "python", "-m", "streamlets.kubernetes.entrypoint"],
                    "env": variables(deployment),
                    "securityContext": container_security(),
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *mounts, *further_mounts(deployment)],
                }
            ],
            "volumes": [
                *([claim_volume("state", deployment.claim)] if deployment.operated else []),
                {"name": "tmp", "emptyDir": {}},
                *further_volumes(deployment),
            ],
        },
    }
