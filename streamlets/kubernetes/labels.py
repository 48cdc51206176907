"""The metadata of objects: names that stay, and the labels that all objects of an application have."""

from __future__ import annotations

from streamlets.kubernetes.deployment import Deployment
from streamlets.kubernetes.yaml import Node, Noted


def selector(deployment: Deployment, component: str) -> dict[str, Node]:
    """Return the labels that select pods. They are a part of objects that cannot be changed.

    Arguments:
        deployment: what is deployed.
        component: `run` or `executor`.
    """
    return {"app.kubernetes.io/name": deployment.name, "app.kubernetes.io/component": component}


def labels(deployment: Deployment, component: str = "") -> dict[str, Node]:
    """Return the labels of an object, or of the pods of a component."""
    own = selector(deployment, component) if component else {"app.kubernetes.io/name": deployment.name}
    further = {key: Noted(value, "flow.kubernetes.labels") for key, value in deployment.settings.labels.items()}
    return {**further, **own, "app.kubernetes.io/managed-by": "streamlets"}


def metadata(deployment: Deployment, name: str = "") -> dict[str, Node]:
    """Return the metadata of an object.

    Arguments:
        deployment: what is deployed.
        name: the name of the object; default: the name of the deployment.
    """
    namespace = deployment.settings.namespace
    where: dict[str, Node] = {"namespace": Noted(namespace, "flow.kubernetes.namespace")} if namespace else {}
    named = name or Noted(deployment.name, "flow.kubernetes.name")
    return {"name": named, **where, "labels": labels(deployment)}
