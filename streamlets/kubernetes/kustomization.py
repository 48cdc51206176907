"""The kustomization, which names the files of objects."""

from __future__ import annotations

from collections.abc import Iterable

from streamlets.kubernetes.yaml import Node


def kustomization(files: Iterable[str]) -> dict[str, Node]:
    """Return the kustomization of files of objects."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(files),
    }
