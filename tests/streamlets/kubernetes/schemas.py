"""The schemas of Kubernetes, strict: an unknown field is a fault."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from kubernetes_validate import utils
from referencing import Registry, Resource

VERSIONS = tuple(utils.all_versions()[-3:])
"""The newest versions of Kubernetes whose schemas are known."""


@cache
def _definitions(version: str) -> Registry[Any]:
    text = utils.schema_contents(f"kubernetes-json-schema/v{version}-local-strict/_definitions.json", version)
    return Resource.from_contents(text) @ Registry()


@cache
def _validator(version: str, kind: str, api: str) -> Draft202012Validator:
    group, _, number = api.rpartition("/")
    name = f"{group.partition('.')[0]}-{number}" if group else number
    file = f"kubernetes-json-schema/v{version}-local-strict/{kind.lower()}-{name}.json"
    return Draft202012Validator(utils.schema_contents(file, version), registry=_definitions(version))


@cache
def faults(text: str, version: str) -> tuple[str, ...]:
    """Return what a version of Kubernetes would refuse in an object.

    Arguments:
        text: the object as JSON.
        version: of Kubernetes.
    """
    object = json.loads(text)
    return tuple(
        f"{version}: {object['kind']} {'.'.join(map(str, error.absolute_path))}: {error.message}"
        for error in _validator(version, object["kind"], object["apiVersion"]).iter_errors(object)
    )
