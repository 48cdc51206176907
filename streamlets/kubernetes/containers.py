"""What the containers of runs and of executors have in common: users, variables, Secrets and volumes."""

from __future__ import annotations

from collections.abc import Iterator

from streamlets.kubernetes.deployment import STATE, Deployment, ManifestError
from streamlets.kubernetes.yaml import Node, Noted

USER = 10001
"""The id of the user and the group of all processes, which the Dockerfile creates."""

INIT = ("/usr/bin/tini", "--")
"""An init, which collects orphans of Python's workers and of programs of spouts. Only its child gets signals."""

_OWN_VARIABLES = {
    "HOME": ("/tmp", "the file system of the image is read-only"),
    "XDG_CACHE_HOME": (f"{STATE}/.cache", "jars that are fetched once"),
    "STREAMLETS_TRUSTED_DIRECTORIES": (str(STATE), "a volume belongs to root"),
}

_POD_VARIABLES = ("POD_IP", "POD_NAME", "POD_NAMESPACE")


def pod_security() -> dict[str, Node]:
    """Return the security context of a pod: no root, and volumes that the group can write."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": Noted("OnRootMismatch", "a large volume is not searched at each start"),
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> dict[str, Node]:
    """Return the security context of a container."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def variables(deployment: Deployment) -> list[Node]:
    """Return the environment variables of a container: of Streamlets, of the settings, and from Secrets.

    Raises:
        ManifestError: a variable of the settings is used by Streamlets, or does not name a Secret and a key.
    """
    settings = deployment.settings
    own: list[Node] = [{"name": name, "value": Noted(*given)} for name, given in _OWN_VARIABLES.items()]
    for name in (*settings.variables, *settings.secrets):
        if (
            name in _OWN_VARIABLES
            or name in _POD_VARIABLES
            or (name in settings.variables and name in settings.secrets)
        ):
            raise ManifestError(f"the variable `{name}` in `flow.kubernetes` is set twice", "choose another name")
    own += [
        {"name": name, "value": Noted(value, f"flow.kubernetes.variables.{name}")}
        for name, value in sorted(settings.variables.items())
    ]
    for name, place in sorted(settings.secrets.items()):
        secret, slash, key = place.partition("/")
        if not (secret and slash and key) or "/" in key:
            raise ManifestError(
                f"`flow.kubernetes.secrets.{name}` must be the name of a Secret and a key in it",
                f"write, for example, `flow.kubernetes.secrets.{name} = shop/password`",
            )
        reference = Noted({"name": secret, "key": key}, f"flow.kubernetes.secrets.{name}")
        own.append({"name": name, "valueFrom": {"secretKeyRef": reference}})
    return own


def further_volumes(deployment: Deployment) -> Iterator[dict[str, Node]]:
    """Yield the volumes that the settings name: Secrets as files, and existing claims."""
    for name in sorted(deployment.settings.secret_volumes):
        yield {"name": f"secret-{name}", "secret": {"secretName": name}}
    for name in sorted(deployment.settings.volumes):
        yield claim_volume(f"claim-{name}", name)


def claim_volume(name: str, claim: str) -> dict[str, Node]:
    """Return a volume of a claim."""
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def state_mounts(deployment: Deployment) -> Iterator[dict[str, Node]]:
    """Yield the directories of the volume of the state: the state, and the outputs of sinks."""
    yield {"name": "state", "mountPath": str(STATE)}
    for _, path, on_volume in deployment.output_volumes():
        yield {"name": "state", "mountPath": Noted(str(path), "sinks write to it"), "subPath": on_volume}


def further_mounts(deployment: Deployment) -> Iterator[dict[str, Node]]:
    """Yield the directories of the volumes that the settings name."""
    for name, path in sorted(deployment.settings.secret_volumes.items()):
        where = Noted(path, f"flow.kubernetes.secret-volumes.{name}")
        yield {"name": f"secret-{name}", "mountPath": where, "readOnly": True}
    for name, path in sorted(deployment.settings.volumes.items()):
        yield {"name": f"claim-{name}", "mountPath": Noted(path, f"flow.kubernetes.volumes.{name}")}
