"""The manifests of every example and template, in each form, are valid for the newest versions of Kubernetes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from blueprint.core_settings import Isolation
from blueprint.kubernetes_settings import KubernetesSettings
from blueprint.quantities import MemorySize
from cli.application import application as application_of
from cli.deployment import deployment_of
from streamlets.kubernetes.deployment import FORMS, Deployment, Form
from streamlets.kubernetes.files import manifest_files
from streamlets.kubernetes.objects import objects
from streamlets.kubernetes.yaml import plain
from tests.crossings.example_directories import Application
from tests.crossings.test_examples import every_application, path
from tests.streamlets.kubernetes.operators import SCHEMAS, pod_templates
from tests.streamlets.kubernetes.schemas import VERSIONS, faults

__all__ = ["path"]

_LARGE = MemorySize(64 * 1024**3)
VARIANTS: dict[str, Mapping[str, Any]] = {
    "defaults": {},
    "executors": {"executors": 3, "executor_memory": MemorySize(3 * 1024**3)},
    "all settings": {
        "name": "other", "namespace": "streams", "image": "registry.example.com/shop:1.4", "cpu": 4,
        "storage_class": "fast", "executors": 1, "service_account": "runner", "evictable": False,
        "arguments": ("--fail-fast",), "variables": {"REGION": "eu"}, "secrets": {"DB_PASSWORD": "shop/password"},
        "secret_volumes": {"certificates": "/certificates"}, "volumes": {"lake": "/lake"},
        "labels": {"example.com/team": "data"},
    },
}  # fmt: skip
"""Settings of `flow.kubernetes`, in addition to memory for any number of drivers."""


def deployments(base: Deployment) -> Iterator[Deployment]:
    """Yield an application in each form, with each variant of the settings, and each isolation."""
    for form in FORMS:
        for values in VARIANTS.values():
            schedules = (None, "0 3 * * *") if form == "job" else (None,)
            if form in ("kubeflow", "apache") and (base.sparks == 0 or "executors" not in values):
                continue  # refused: see tests/cli/test_manifests.py
            for schedule in schedules:
                executors = {} if base.sparks else {"executors": 0}
                given: dict[str, Any] = {"name": "app", "memory": _LARGE, "schedule": schedule, **values, **executors}
                settings = KubernetesSettings(**given)
                isolation: Isolation = "process" if values and form in ("statefulset", "job") else "none"
                own = replace(base.plan.settings, kubernetes=settings, isolation=isolation)
                yield with_form(replace(base, plan=replace(base.plan, settings=own)), form)


def with_form(base: Deployment, form: Form) -> Deployment:
    """Return a deployment in another form."""
    return replace(base, form=form)


@every_application
def test_manifests_are_valid(application: Application, path: Path) -> None:
    """No object has a field that Kubernetes does not know, or a value of another type; names are unique."""
    given = [re.sub(r"(?<=://)[^/@]*@", "", argument) for argument in application.arguments]  # users are secrets
    base = deployment_of(application_of([application.file, *given, "flow.kubernetes.name=app"], ()), "statefulset")
    for deployment in deployments(base):
        documents: list[Any] = [plain(document) for _, group in objects(deployment) for document in group]
        names = [(document["kind"], document["metadata"]["name"]) for document in documents]
        assert len(set(names)) == len(names)
        assert [*wrong(documents)] == []
    files = manifest_files(base, "manifests")
    listed = yaml.safe_load(files["kustomization.yaml"])["resources"]
    assert sorted([*listed, "kustomization.yaml"]) == sorted(name for name in files if name.endswith(".yaml"))


def wrong(documents: list[Any]) -> Iterator[str]:
    """Yield what is wrong with objects, and with the template of executors in a ConfigMap."""
    for document in documents:
        template = document.get("data", {}).get("executor.yaml") if document["kind"] == "ConfigMap" else None
        checked = [document, *([yaml.safe_load(template)] if template is not None else [])]
        if document["kind"] == "SparkApplication":
            yield from (error.message for error in validator(document["apiVersion"]).iter_errors(document))
            checked = pod_templates(document)
        for version in VERSIONS:
            for one in checked:
                yield from faults(json.dumps(one), version)


@cache
def validator(api: str) -> Draft202012Validator:
    """Return what checks the resource of an operator."""
    return Draft202012Validator(SCHEMAS[api])


def test_a_mistake_is_found() -> None:
    """The schemas are strict."""
    document = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {"replicaz": 1}}
    assert any("replicaz" in fault for version in VERSIONS for fault in faults(json.dumps(document), version))
    assert len(VERSIONS) == 3
