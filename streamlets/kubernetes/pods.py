"""The pod of a run."""

from __future__ import annotations

from collections.abc import Iterator

from streamlets.kubernetes.configuration import (
    KUBERNETES_FILE,
    configuration_mounts,
    configuration_name,
)
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
from streamlets.kubernetes.deployment import (
    CONFIGURATION,
    MARGIN,
    SPARK_STOP,
    STATE,
    Deployment,
    quantity,
)
from streamlets.kubernetes.labels import labels
from streamlets.kubernetes.yaml import Node, Noted

CONTAINER = "flow"
"""The name of the container of a run."""


def run_pod(deployment: Deployment) -> dict[str, Node]:
    """Return the template of the pod of a run."""
    job = deployment.form == "job"
    restart = Noted("Never", "a failed run is a failed pod, whose end can be read")
    account = deployment.settings.service_account
    token = "the run asks for executors" if deployment.executors else "nothing asks Kubernetes for something"
    parts = f"{SPARK_STOP} s for Spark, {MARGIN} s for the end"
    return {
        "metadata": {"labels": labels(deployment, "run")},
        "spec": {
            **({"restartPolicy": restart} if job else {}),
            "serviceAccountName": Noted(account, "flow.kubernetes.service-account") if account else deployment.name,
            "automountServiceAccountToken": Noted(bool(deployment.executors), token),
            "terminationGracePeriodSeconds": Noted(deployment.grace_seconds, f"flow.kubernetes.drain-timeout, {parts}"),
            "securityContext": pod_security(),
            "containers": [_container(deployment)],
            "volumes": [
                *([claim_volume("state", deployment.claim)] if deployment.form != "statefulset" else []),
                {"name": "tmp", "emptyDir": {}},
                {"name": "configuration", "configMap": {"name": configuration_name(deployment)}},
                *further_volumes(deployment),
            ],
        },
    }


def _container(deployment: Deployment) -> dict[str, Node]:
    settings = deployment.settings
    memory = Noted(quantity(settings.memory), "flow.kubernetes.memory")
    return {
        "name": CONTAINER,
        "image": Noted(deployment.image, "flow.kubernetes.image"),
        **_command(deployment),
        "env": [
            *variables(deployment),
            *(_executor_variables() if deployment.executors and not deployment.operated else ()),
        ],
        "ports": [{"name": name, "containerPort": port} for name, port in ports(deployment)],
        "resources": {
            "requests": {"cpu": Noted(str(settings.cpu), "flow.kubernetes.cpu"), "memory": memory},
            "limits": {"memory": memory},
        },
        "startupProbe": _probe("/healthz", period=5, failures=60),
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        "readinessProbe": _probe("/readyz", period=10, failures=3),
        "terminationMessagePolicy": Noted("FallbackToLogsOnError", "`kubectl describe pod` shows why a start failed"),
        "securityContext": container_security(),
        "volumeMounts": [
            *state_mounts(deployment),
            {"name": "tmp", "mountPath": "/tmp"},
            *configuration_mounts(deployment),
            *further_mounts(deployment),
        ],
    }


def _command(deployment: Deployment) -> dict[str, Node]:
    """Return the command of the container, which is the main process; Spark adds the arguments for an operator."""
    if deployment.operated:
        return {"command": [*INIT, "python", "-m", "streamlets.kubernetes.entrypoint"]}
    return {"command": [*INIT, "flow"], "args": arguments(deployment)}


def arguments(deployment: Deployment) -> list[Node]:
    """Return the command line of a run, without the command."""
    settings = deployment.settings
    given: list[Node] = ["run", str(deployment.blueprint.path)]
    for path in (*(file.path for file in deployment.conf), CONFIGURATION / KUBERNETES_FILE):
        given += ["--conf", str(path)]
    timeout = Noted(f"{settings.drain_timeout.seconds:g}s", "flow.kubernetes.drain-timeout")
    given += ["--state-dir", str(STATE), "--drain-timeout", timeout]
    if deployment.executors and not deployment.operated:
        given += ["--master", Noted("k8s://https://kubernetes.default.svc", "flow.kubernetes.executors")]
    elif deployment.sparks and not deployment.operated and deployment.plan.settings.cluster.master is None:
        given += ["--master", Noted(f"local[{settings.cpu},4]", "flow.kubernetes.cpu; four attempts of each task")]
    if deployment.bounded:
        given += [Noted("--available-now", "flow manifests --for job")]
    given += [Noted(argument, "flow.kubernetes.arguments") for argument in settings.arguments or ()]
    return [*given, *(Noted(argument, "an argument of flow manifests") for argument in deployment.arguments)]


def _executor_variables() -> Iterator[dict[str, Node]]:
    """Yield the variables that `kubernetes.conf` uses."""
    fields = {"POD_IP": "status.podIP", "POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    for name, path in fields.items():
        yield {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def ports(deployment: Deployment) -> Iterator[tuple[str, Node]]:
    """Yield the ports of the pod of a run with their names."""
    yield "metrics", Noted(deployment.metrics_port, "flow.metrics.port")
    if deployment.executors:
        for port in deployment.driver_ports:
            yield port.name, Noted(port.first, f"flow.cluster.{port.key}")
    for ref, number in deployment.listening:
        yield f"tcp-{number}", Noted(number, f"the streamlet `{ref}` listens")


def _probe(path: str, *, period: int, failures: int) -> dict[str, Node]:
    return {
        "httpGet": {"path": path, "port": "metrics"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
