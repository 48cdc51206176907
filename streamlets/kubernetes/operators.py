"""`SparkApplication`, the resource of two operators: of Kubeflow, and of Apache Spark. Both submit in cluster mode.

They start the driver's pod with arguments for `spark-submit`, which the entry point of the image turns into `flow run`.
"""

from __future__ import annotations

from importlib.metadata import version

from streamlets.kubernetes.deployment import APPLICATION, Deployment
from streamlets.kubernetes.executor_template import executor_template
from streamlets.kubernetes.labels import metadata
from streamlets.kubernetes.pods import arguments, run_pod
from streamlets.kubernetes.yaml import Node, Noted

_PROGRAM = f"local://{APPLICATION}/flow.py"
"""The program of the driver, whose suffix makes it Python. It is not read: the arguments after it are for `flow`."""

_FOREVER = 2**31 - 1
_RETRY_SECONDS = 10


def kubeflow_application(deployment: Deployment) -> dict[str, Node]:
    """Return the SparkApplication for Kubeflow's operator."""
    settings = deployment.settings
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": metadata(deployment),
        "spec": {
            "type": "Python",
            "pythonVersion": Noted("3", "the default is 2"),
            "mode": "cluster",
            "sparkVersion": version("pyspark"),
            "image": Noted(deployment.image, "flow.kubernetes.image"),
            "mainApplicationFile": _PROGRAM,
            "arguments": arguments(deployment),
            "restartPolicy": {
                "type": Noted("Always", "a stream has no end"),
                "onFailureRetryInterval": _RETRY_SECONDS,
                "onSubmissionFailureRetryInterval": _RETRY_SECONDS,
            },
            "driver": {
                "cores": Noted(settings.cpu, "flow.kubernetes.cpu"),
                "memory": Noted(f"{deployment.heap}m", "flow.kubernetes.memory: half"),
                "memoryOverhead": Noted(f"{_mebibytes(deployment) - deployment.heap}m", "the rest, for Python"),
                "serviceAccount": settings.service_account or deployment.name,
                "template": run_pod(deployment),
            },
            "executor": {
                "instances": Noted(settings.executors, "flow.kubernetes.executors"),
                "cores": Noted(settings.executor_cpu, "flow.kubernetes.executor-cpu"),
                "memory": Noted(f"{deployment.executor_heap}m", "flow.kubernetes.executor-memory: 60 %"),
                "memoryOverhead": Noted(f"{_executor_overhead(deployment)}m", "the rest, for Python"),
                "template": _executor_pod(deployment),
            },
        },
    }


def apache_application(deployment: Deployment) -> dict[str, Node]:
    """Return the SparkApplication for Apache Spark's operator."""
    settings = deployment.settings
    configuration: dict[str, Node] = {
        "spark.kubernetes.container.image": Noted(deployment.image, "flow.kubernetes.image"),
        "spark.kubernetes.authenticate.driver.serviceAccountName": settings.service_account or deployment.name,
        "spark.driver.cores": Noted(str(settings.cpu), "flow.kubernetes.cpu"),
        "spark.driver.memory": Noted(f"{deployment.heap}m", "flow.kubernetes.memory: half"),
        "spark.driver.memoryOverhead": Noted(f"{_mebibytes(deployment) - deployment.heap}m", "the rest, for Python"),
        "spark.executor.instances": Noted(str(settings.executors), "flow.kubernetes.executors"),
        "spark.executor.cores": Noted(str(settings.executor_cpu), "flow.kubernetes.executor-cpu"),
        "spark.executor.memory": Noted(f"{deployment.executor_heap}m", "flow.kubernetes.executor-memory: 60 %"),
        "spark.executor.memoryOverhead": Noted(f"{_executor_overhead(deployment)}m", "the rest, for Python"),
    }
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": metadata(deployment),
        "spec": {
            "runtimeVersions": {"sparkVersion": version("pyspark")},
            "deploymentMode": "ClusterMode",
            "pyFiles": Noted(_PROGRAM, "the program of the driver"),
            "driverArgs": arguments(deployment),
            "sparkConf": configuration,
            "driverSpec": {"podTemplateSpec": run_pod(deployment)},
            "executorSpec": {"podTemplateSpec": _executor_pod(deployment)},
            "applicationTolerations": {
                "restartConfig": {
                    "restartPolicy": Noted("Always", "a stream has no end"),
                    "maxRestartAttempts": Noted(_FOREVER, "the default ends the application at its third restart"),
                    "restartBackoffMillis": _RETRY_SECONDS * 1000,
                },
                "applicationTimeoutConfig": {
                    "forceTerminationGracePeriodMillis": Noted(
                        deployment.grace_seconds * 1000, "flow.kubernetes.drain-timeout, and time for the stop"
                    )
                },
            },
        },
    }


def _mebibytes(deployment: Deployment) -> int:
    return deployment.settings.memory.bytes // 1024**2


def _executor_overhead(deployment: Deployment) -> int:
    return deployment.settings.executor_memory.bytes // 1024**2 - deployment.executor_heap


def _executor_pod(deployment: Deployment) -> dict[str, Node]:
    template = executor_template(deployment)
    return {"metadata": template["metadata"], "spec": template["spec"]}
