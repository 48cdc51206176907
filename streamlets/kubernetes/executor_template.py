"""The pod template of executors, which Spark completes with its image, its resources and the volume of the state."""

from __future__ import annotations

from streamlets.kubernetes.containers import (
    INIT,
    container_security,
    further_mounts,
    further_volumes,
    pod_security,
    variables,
)
from streamlets.kubernetes.deployment import Deployment
from streamlets.kubernetes.labels import labels
from streamlets.kubernetes.yaml import Node, Noted

EXECUTOR_FILE = "executor.yaml"
"""The name of the template among the files of the ConfigMap."""


def executor_template(deployment: Deployment) -> dict[str, Node]:
    """Return the template."""
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
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *further_mounts(deployment)],
                }
            ],
            "volumes": [{"name": "tmp", "emptyDir": {}}, *further_volumes(deployment)],
        },
    }
