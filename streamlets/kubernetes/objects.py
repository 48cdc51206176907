"""The objects of an application in Kubernetes: what runs it, and what that needs."""

from __future__ import annotations

from collections.abc import Iterator

from streamlets.kubernetes.configuration import config_map
from streamlets.kubernetes.deployment import Deployment, quantity
from streamlets.kubernetes.labels import labels, metadata, selector
from streamlets.kubernetes.operators import apache_application, kubeflow_application
from streamlets.kubernetes.pods import CONTAINER, ports, run_pod
from streamlets.kubernetes.yaml import Node, Noted

Object = dict[str, Node]
"""An object of Kubernetes."""

_REFUSED = 2
"""The exit code of a run whose blueprint, arguments or state are wrong: another attempt ends in the same way."""


def objects(deployment: Deployment) -> Iterator[tuple[str, tuple[Object, ...]]]:
    """Yield the objects by the names of their files, in the order in which they are created.

    Raises:
        ManifestError: the application cannot be deployed as its settings say.
    """
    deployment.check()
    yield "configmap", (config_map(deployment),)
    if deployment.settings.service_account is None:
        yield "serviceaccount", (_service_account(deployment),)
    if deployment.executors:
        yield "role", (_role(deployment), _role_binding(deployment))
    if deployment.form != "statefulset":
        yield "persistentvolumeclaim", (_claim(deployment),)
    yield "service", (_service(deployment),)
    match deployment.form:
        case "statefulset":
            yield "statefulset", (_stateful_set(deployment),)
        case "job":
            yield (
                ("cronjob", (_cron_job(deployment),)) if deployment.settings.schedule else ("job", (_job(deployment),))
            )
        case "kubeflow":
            yield "sparkapplication", (kubeflow_application(deployment),)
        case "apache":
            yield "sparkapplication", (apache_application(deployment),)
    if deployment.form != "job":
        yield "poddisruptionbudget", tuple(_disruption_budgets(deployment))
    yield "networkpolicy", tuple(_network_policies(deployment))


def _stateful_set(deployment: Deployment) -> Object:
    template: Object = {"metadata": {"name": "state", "labels": labels(deployment)}, "spec": _claim_spec(deployment)}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(deployment),
        "spec": {
            "replicas": Noted(1, "one run owns the state directory; 0 stops it"),
            "serviceName": deployment.name,
            "podManagementPolicy": Noted("Parallel", "a pod that is not ready does not block its next version"),
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "selector": {"matchLabels": selector(deployment, "run")},
            "template": run_pod(deployment),
            "volumeClaimTemplates": [template],
        },
    }


def _job_spec(deployment: Deployment) -> Object:
    refused = Noted([_REFUSED], "the blueprint, the arguments or the state are wrong")
    codes: Object = {"containerName": CONTAINER, "operator": "In", "values": refused}
    rule: Object = {"action": "FailJob", "onExitCodes": codes}
    return {
        "backoffLimit": 6,
        "podReplacementPolicy": Noted("Failed", "never two pods at one time"),
        "podFailurePolicy": {"rules": [rule]},
        "template": run_pod(deployment),
    }


def _job(deployment: Deployment) -> Object:
    spec = _job_spec(deployment)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(deployment), "spec": spec}


def _cron_job(deployment: Deployment) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(deployment),
        "spec": {
            "schedule": Noted(deployment.settings.schedule, "flow.kubernetes.schedule"),
            "concurrencyPolicy": Noted("Forbid", "one run owns the state directory"),
            "jobTemplate": {"metadata": {"labels": labels(deployment)}, "spec": _job_spec(deployment)},
        },
    }


def _claim(deployment: Deployment) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(deployment, deployment.claim),
        "spec": _claim_spec(deployment),
    }


def _claim_spec(deployment: Deployment) -> Object:
    settings = deployment.settings
    shared = bool(deployment.executors)
    mode = (
        Noted("ReadWriteMany", "executors on all nodes read and write it")
        if shared
        else Noted("ReadWriteOncePod", "one run owns the state directory")
    )
    kind = settings.storage_class
    return {
        "accessModes": [mode],
        **({"storageClassName": Noted(kind, "flow.kubernetes.storage-class")} if kind else {}),
        "resources": {"requests": {"storage": Noted(quantity(settings.storage), "flow.kubernetes.storage")}},
    }


def _service_account(deployment: Deployment) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(deployment),
        "automountServiceAccountToken": False,
    }


_VERBS = ("create", "get", "list", "watch", "patch", "delete", "deletecollection")


def _role(deployment: Deployment) -> Object:
    resources = Noted(
        ["pods", "configmaps", "services", "persistentvolumeclaims"], "what Spark creates for executors and deletes"
    )
    rule: Object = {"apiGroups": [""], "resources": resources, "verbs": list(_VERBS)}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata(deployment),
        "rules": [rule],
    }


def _role_binding(deployment: Deployment) -> Object:
    account = deployment.settings.service_account or deployment.name
    namespace = deployment.settings.namespace
    subject: Object = {"kind": "ServiceAccount", "name": account, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata(deployment),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": deployment.name},
        "subjects": [subject],
    }


def _service(deployment: Deployment) -> Object:
    not_ready = "executors connect before the streamlets run, and metrics tell why they do not"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(deployment),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": Noted(True, not_ready),
            "selector": selector(deployment, "run"),
            "ports": [{"name": name, "port": port} for name, port in ports(deployment)],
        },
    }


def _disruption_budgets(deployment: Deployment) -> Iterator[Object]:
    """Yield a budget for the run and, if there are several executors, one for these."""
    movable = deployment.settings.evictable
    limits: list[tuple[str, str, Object]] = [
        (deployment.name, "run", {"maxUnavailable": Noted(int(movable), "flow.kubernetes.evictable")})
    ]
    if deployment.executors > 1:
        kept = Noted(deployment.executors * deployment.sparks - 1, "one executor at a time")
        limits.append((f"{deployment.name}-executors", "executor", {"minAvailable": kept}))
    for name, component, limit in limits:
        yield {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(deployment, "" if name == deployment.name else name),
            "spec": {
                **limit,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": {"matchLabels": selector(deployment, component)},
            },
        }


def _network_policies(deployment: Deployment) -> Iterator[Object]:
    """Yield which pods may connect to the run and to its executors; connections from them are not restricted."""
    from_all: Object = {"from": [{"namespaceSelector": {}}]}
    open_ports: list[Node] = [{"port": "metrics"}, *({"port": number} for _, number in deployment.listening)]
    rules: list[Node] = [{**from_all, "ports": open_ports}]
    executors: Object = {"podSelector": {"matchLabels": selector(deployment, "executor")}}
    if deployment.executors:
        ranges: list[Node] = [{"port": port.first, "endPort": port.last} for port in deployment.driver_ports]
        rules.append({"from": [executors], "ports": ranges})
    yield _network_policy(deployment, "", "run", rules)
    if deployment.executors:
        run: Object = {"podSelector": {"matchLabels": selector(deployment, "run")}}
        yield _network_policy(deployment, f"{deployment.name}-executors", "executor", [{"from": [run, executors]}])


def _network_policy(deployment: Deployment, name: str, component: str, rules: list[Node]) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(deployment, name),
        "spec": {
            "podSelector": {"matchLabels": selector(deployment, component)},
            "policyTypes": ["Ingress"],
            "ingress": rules,
        },
    }
