"""The launch of Spark's Java process: its command line, its files, and the reason when it does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamlets.spark.java import start_failure
from streamlets.spark.launch_files import launch_files

_SECRET = "hunter2 = \\ü: #x "
_START = """
import sys
from pathlib import Path
from streamlets.spark import launch
from streamlets.spark.settings import SessionPlan

folder, password = Path(sys.argv[1]), sys.argv[2]
scratch = folder / "tmp"
(scratch / "spark").mkdir(parents=True)
(scratch / "spark" / "librocksdbjni123.so").write_text("what a killed process left")
settings = {
    "spark.hadoop.fs.s3a.secret.key": password,
    "spark.driver.extraJavaOptions": "-Dmy.password='hunter2 x'",
    "spark.driver.memory": "600m",
}
plan = SessionPlan("a", folder / "logs", scratch, "local[1]", settings=settings)
spark = launch.start(plan, print)
arguments = Path(f"/proc/{spark.process.pid}/cmdline").read_bytes()
assert b"hunter2" not in arguments, arguments
java = spark.session._jvm.java.lang
assert java.System.getProperty("my.password") == "hunter2 x"
assert java.System.getProperty("java.io.tmpdir") == str(scratch / "spark")
assert 500 < java.Runtime.getRuntime().maxMemory() / 2**20 <= 600
assert spark.session.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key") == password
assert not list(scratch.glob("spark/librocksdb*"))
assert not list(scratch.glob("*.properties.*")) and not (scratch / "spark.properties").exists()
assert "PYSPARK_SUBMIT_ARGS" not in __import__("os").environ
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the command line of a process is read in /proc")
def test_no_setting_is_on_the_command_line_of_java(tmp_path: Path) -> None:
    """Settings, including options of Java, are passed exactly but not as arguments, which any user can read. Temporary
    files are in the state directory, and those of a killed process are deleted first."""
    directory = tmp_path / "with space"
    done = subprocess.run(
        [sys.executable, "-c", _START, str(directory), _SECRET],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_files_of_settings_are_the_owners_and_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While Java starts, only the user can read them; arguments that the user set for the launcher are kept."""
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--verbose pyspark-shell")
    with launch_files(tmp_path, {"spark.a": "b c"}, ["-Dx=y"]):
        files = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        assert files == {"spark.properties": 0o600, "java.options": 0o600}
        assert "spark.a=b\\ c\n" in (tmp_path / "spark.properties").read_text()
        words = os.environ["PYSPARK_SUBMIT_ARGS"]
        assert words == f"--properties-file {tmp_path}/spark.properties --load-spark-defaults --verbose pyspark-shell"
    assert not list(tmp_path.iterdir())
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--verbose pyspark-shell"


_WARNING = "WARNING: Using incubator modules: jdk.incubator.vector\n"


@pytest.mark.parametrize(
    ("code", "log", "why"),
    [
        (-9, _WARNING, "was killed by signal 9 (SIGKILL) while it was starting"),
        (137, _WARNING, "was killed by signal 9 (SIGKILL) while it was starting"),
        (-15, f"{_WARNING}java.io.IOException: full\n", "(SIGTERM) while it was starting: java.io.IOException: full"),
        (
            1,
            "Invalid maximum heap size: -Xmx1x\nError: Could not create the Java Virtual Machine.\n",
            "exited with code 1 while it was starting: Invalid maximum heap size: -Xmx1x",
        ),
        (
            1,
            f'{_WARNING}Exception in thread "main" java.lang.A: a\n\tat b.C(D.java)\nCaused by: java.net.E: refused\n',
            "exited with code 1 while it was starting: java.net.E: refused",
        ),
        (3, "", "exited with code 3 while it was starting"),
    ],
)  # fmt: skip
def test_why_java_did_not_come_up(tmp_path: Path, code: int, log: str, why: str) -> None:
    """The error has the signal or exit code, and the last error of the log, not a warning."""
    (tmp_path / "jvm.log").write_text(log)
    error = start_failure(code, tmp_path / "jvm.log")
    assert why in str(error)
    assert "incubator" not in str(error)
    assert ("memory" in error.help) == ("SIGKILL" in why)


_KILLED = """
import contextlib, os, signal, sys, threading, time
from pathlib import Path
import psutil
from streamlets.spark import launch
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan

def kill():
    while True:
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it has exited since
                if "org.apache.spark.deploy.SparkSubmit" in child.cmdline():
                    child.kill()
                    return
        time.sleep(0.01)

threading.Thread(target=kill, daemon=True).start()
folder = Path(sys.argv[1])
try:
    launch.start(SessionPlan("a", folder / "logs", folder / "tmp", "local[1]"), print)
except SessionError as error:
    print(error)
"""


@pytest.mark.spark
def test_java_that_is_killed_while_it_starts(tmp_path: Path) -> None:
    """With a real process, of which PySpark only reports that it exited, and whose log has warnings."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)], capture_output=True, text=True, timeout=600, check=False
    )
    assert "Spark's Java process was killed by signal 9 (SIGKILL) while it was starting" in done.stdout, done
