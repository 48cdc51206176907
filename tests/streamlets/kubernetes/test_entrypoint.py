"""The entry point of the image turns what Spark tells a pod into the command of an executor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streamlets.kubernetes import entrypoint

_POD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1228m",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.9",
    "SPARK_EXECUTOR_POD_NAME": "flights-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    **{f"SPARK_JAVA_OPT_{number}": f"-Doption={number}" for number in (0, 10, 2)},
}


def test_the_command_of_an_executor() -> None:
    """Options of Java are in their order, and each argument of the backend has its value."""
    command = entrypoint.executor_command("/usr/bin/java", Path("/jars"), _POD)
    assert command[:6] == ["/usr/bin/java", "-Doption=0", "-Doption=2", "-Doption=10", "-Xms1228m", "-Xmx1228m"]
    assert command[6:8] == ["-cp", "/opt/spark/conf:/jars/*"]
    backend, *arguments = command[8:]
    assert backend.endswith("KubernetesExecutorBackend")
    assert dict(zip(arguments[::2], arguments[1::2], strict=True)) == {
        "--driver-url": _POD["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "2",
        "--app-id": "spark-application-1",
        "--hostname": "10.0.0.9",
        "--resourceProfileId": "0",
        "--podName": "flights-exec-3",
    }


def test_a_pod_that_is_not_an_executor_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing variable is named."""
    monkeypatch.setattr(entrypoint, "java_command", lambda: "java")
    with pytest.raises(SystemExit, match="'SPARK_EXECUTOR_MEMORY' is not set; Spark starts executors with it"):
        entrypoint.main(["executor"])


def test_other_words_are_a_command_of_flow() -> None:
    """They replace the process, so that it has the same id and gets the same signals."""
    command = [sys.executable, "-m", "streamlets.kubernetes.entrypoint", "explain", "unknown-setting"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "unknown-setting" in done.stdout


_PROPERTIES = r"""#Java properties built from Kubernetes config map
#Tue Nov 24 19:00:00 UTC 2026
spark.master=k8s\://https\://kubernetes.default.svc\:443
spark.submit.deployMode=cluster
spark.kubernetes.driver.pod.name=flights-driver
spark.kubernetes.driver.label.app=flights
spark.driver.host=flights-driver-svc.lab.svc
spark.executor.instances=2
spark.hadoop.note=a\=b\u00e4
"""


def test_a_driver_that_spark_has_submitted_is_a_run() -> None:
    """The arguments after the program are of `flow`; settings of Spark are a file, without those of the submission."""
    words = ["--properties-file", "/opt/spark/conf/spark.properties", "--class", "Runner", "local:///app/flow.py"]
    settings = entrypoint.read_properties(_PROPERTIES)
    command, text = entrypoint.driver_command([*words, "run", "/app/blueprint.conf"], settings, Path("/tmp/spark.conf"))
    master = "k8s://https://kubernetes.default.svc:443"
    assert command == ["run", "/app/blueprint.conf", "--conf", "/tmp/spark.conf", "--master", master]
    assert text.splitlines() == [
        'flow.cluster.driver-host = "flights-driver-svc.lab.svc"',
        'flow.cluster.executors = "2"',
        'flow.runtimes.spark."spark.hadoop.note" = "a=b\\u00e4"',
        'flow.runtimes.spark."spark.kubernetes.driver.pod.name" = "flights-driver"',
    ]


def test_a_driver_without_a_file_of_settings() -> None:
    """The message names the option."""
    with pytest.raises(SystemExit, match="a driver needs `--properties-file FILE`"):
        entrypoint.main(["driver", "local:///app/flow.py"])
