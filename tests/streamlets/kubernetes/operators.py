"""The fields of `SparkApplication` that manifests use, for both operators; others are faults.

The types are those of the resources of Kubeflow's operator 2.5 and of Apache Spark's operator 1.0.
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXTS = {"type": "array", "items": _TEXT}
_POD = {"type": "object"}
"""A template of a pod, which is checked as a pod of Kubernetes."""


def _object(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    properties = {name.replace("_", "-"): schema for name, schema in fields.items()}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _resource(api: str, spec: dict[str, Any]) -> dict[str, Any]:
    return _object(
        ("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": api},
        kind={"const": "SparkApplication"},
        metadata={"type": "object", "required": ["name"]},
        spec=spec,
    )


_MEMORY = {"type": "string", "pattern": "^[1-9][0-9]*m$"}
_ROLE: dict[str, Any] = {"cores": _COUNT, "memory": _MEMORY, "memoryOverhead": _MEMORY, "template": _POD}

KUBEFLOW = _resource(
    "sparkoperator.k8s.io/v1beta2",
    _object(
        ("type", "mainApplicationFile", "sparkVersion", "driver", "executor"),
        type={"enum": ["Java", "Python", "Scala", "R"]},
        pythonVersion={"enum": ["2", "3"]},
        mode={"enum": ["cluster", "client"]},
        sparkVersion=_TEXT,
        image=_TEXT,
        mainApplicationFile=_TEXT,
        arguments=_TEXTS,
        restartPolicy=_object(
            type={"enum": ["Never", "Always", "OnFailure"]},
            onFailureRetryInterval=_COUNT | {"minimum": 1},
            onSubmissionFailureRetryInterval=_COUNT | {"minimum": 1},
        ),
        driver=_object(serviceAccount=_TEXT, **_ROLE),
        executor=_object(instances=_COUNT, **_ROLE),
    ),
)

APACHE = _resource(
    "spark.apache.org/v1",
    _object(
        ("runtimeVersions",),
        runtimeVersions=_object(("sparkVersion",), sparkVersion=_TEXT),
        deploymentMode={"enum": ["ClusterMode", "ClientMode"]},
        pyFiles=_TEXT,
        driverArgs=_TEXTS,
        sparkConf={"type": "object", "additionalProperties": _TEXT},
        driverSpec=_object(podTemplateSpec=_POD),
        executorSpec=_object(podTemplateSpec=_POD),
        applicationTolerations=_object(
            restartConfig=_object(
                restartPolicy={"enum": ["Never", "Always", "OnFailure", "OnInfrastructureFailure"]},
                maxRestartAttempts=_COUNT,
                restartBackoffMillis=_COUNT,
            ),
            applicationTimeoutConfig=_object(forceTerminationGracePeriodMillis=_COUNT),
        ),
    ),
)

SCHEMAS = {"sparkoperator.k8s.io/v1beta2": KUBEFLOW, "spark.apache.org/v1": APACHE}


def pod_templates(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the templates in a `SparkApplication` as pods. Spark sets the image of executors."""
    spec = document["spec"]
    templates = [
        spec[role].get("template") or spec[role].get("podTemplateSpec")
        for role in ("driver", "executor", "driverSpec", "executorSpec")
        if role in spec
    ]
    return [{"apiVersion": "v1", "kind": "Pod", **template} for template in templates]
