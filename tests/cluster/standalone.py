"""A real standalone cluster of Spark on loopback, from the installed PySpark: a master, workers and their executors.

    python -m tests.cluster.standalone [WORKERS]    start one, print its address, and stop it at the end of input

Every process of a cluster has its working directory below the directory of the cluster, by which it is found. A process
of its own, the keeper, kills all of them when the process that started the cluster has exited, however it exits.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import psutil

from streamlets.spark.class_archive import archive_options
from streamlets.spark.spark_home import without_zip

_REPOSITORY = Path(__file__).parents[2]
_HOST = "127.0.0.1"
# Seconds until a process is ready or has exited, and between two looks.
_PATIENCE = 180.0
_POLL = 0.1
# Attempts with other ports, when another process has taken the free ones.
_ATTEMPTS = 3
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class ClusterError(Exception):
    """A process of the cluster does not start; the message has the end of its log."""


class Cluster:
    """A cluster in a directory. As a context manager, it is started and stopped.

    Arguments:
        directory: its directory, for logs, settings and the files of executors.
        workers: the number of workers.
        cores: the cores of each worker.
        memory: the memory that each worker gives to executors, as `1500m`.
        secured: whether its processes and applications authenticate each other, and encrypt what they send.
        recovery: whether a master that is started again knows the applications and workers of the killed one.
        settings: further settings of master and workers.
    """

    def __init__(
        self,
        directory: Path,
        *,
        workers: int = 1,
        cores: int = 1,
        memory: str = "1g",
        secured: bool = False,
        recovery: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory.resolve()
        self.workers = tuple(range(1, workers + 1))
        self._cores, self._memory = cores, memory
        self._port = self._page = 0
        self._keeper: subprocess.Popen[bytes] | None = None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.settings: dict[str, str] = {}
        """The settings that an application needs to be accepted; they contain the secret."""
        if secured:
            self.settings = {
                "spark.authenticate": "true",
                "spark.authenticate.secret": secrets.token_hex(16),
                "spark.network.crypto.enabled": "true",
            }
        self._own = {"spark.master.rest.enabled": "false"} | self.settings | dict(settings or {})
        if recovery:
            self._own |= {
                "spark.deploy.recoveryMode": "FILESYSTEM",
                "spark.deploy.recoveryDirectory": str(self.directory / "recovery"),
            }

    @property
    def url(self) -> str:
        """The address of the master, as `--master` takes it."""
        return f"spark://{_HOST}:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of an application, which keep its sockets on loopback."""
        return {"SPARK_LOCAL_IP": _HOST}

    def conf(self, file: Path, more: Mapping[str, str] | None = None) -> Path:
        """Write the settings of an application to a file for `flow run --conf`, and return it.

        Arguments:
            file: the file, which other users cannot read.
            more: further settings of Spark.
        """
        settings = self.settings | dict(more or {})
        lines = (f"  {json.dumps(key)} = {json.dumps(value)}\n" for key, value in settings.items())
        _write_privately(file, f"flow.runtimes.spark {{\n{''.join(lines)}}}\n")
        return file

    def start(self) -> Self:
        """Start the master and all workers, and wait until the master has accepted the workers.

        Raises:
            ClusterError: one of them does not start.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.cluster.standalone", "keep", str(self.directory)]
        self._keeper = subprocess.Popen(command, cwd=_REPOSITORY, stdin=subprocess.PIPE, start_new_session=True)
        _write_privately(self._settings, "".join(f"{key} {value}\n" for key, value in self._own.items()))
        for attempt in range(_ATTEMPTS):
            self._port, self._page = _free_ports(2)
            try:
                self.start_master()
                break
            except ClusterError as error:
                if "already in use" not in str(error) or attempt == _ATTEMPTS - 1:
                    self.stop()
                    raise
        try:
            for worker in self.workers:
                self._launch_worker(worker)
            self.wait_for_workers(len(self.workers))
        except ClusterError:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill all processes of the cluster, and the executors of its applications."""
        kill_below(self.directory)
        for process in self._processes.values():
            process.wait()
        if self._keeper is not None and self._keeper.stdin is not None:
            self._keeper.stdin.close()
            self._keeper.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start_master(self) -> None:
        """Start the master, for the first time or again at its address, and wait until it answers.

        Raises:
            ClusterError: it does not start.
        """
        self._launch("master", "--port", str(self._port), "--webui-port", str(self._page))
        self._wait("master", lambda: self.state().get("status") == "ALIVE")

    def kill_master(self) -> None:
        """Kill the master; `start_master` starts it again."""
        self._kill("master")

    def start_worker(self, worker: int) -> None:
        """Start a worker again, and wait until the master has accepted it."""
        self._launch_worker(worker)
        port = re.compile(rf"\b{self._worker_port(worker)}\b")
        self._wait(
            f"worker-{worker}",
            lambda: any(port.search(str(known["port"])) for known in self.alive_workers()),
        )

    def kill_worker(self, worker: int) -> None:
        """Kill a worker by its number, from 1 on; its executors exit by themselves."""
        self._kill(f"worker-{worker}")

    def worker(self, worker: int) -> psutil.Process:
        """Return the process of a worker, to suspend or resume it."""
        return psutil.Process(self._processes[f"worker-{worker}"].pid)

    def executors(self, worker: int | None = None) -> list[psutil.Process]:
        """Return the Java processes of executors that have not exited; those of one worker, or of all.

        They can be killed, suspended and resumed.
        """
        directory = self.directory if worker is None else self._home(f"worker-{worker}")
        return [process for process in processes_below(directory) if _EXECUTOR in _command(process)]

    def state(self) -> dict[str, Any]:
        """Return what the master reports about workers and applications; {} if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{self._page}/json/", timeout=10) as answer:
                state: dict[str, Any] = json.load(answer)
                return state
        except (OSError, ValueError):
            return {}

    def alive_workers(self) -> list[dict[str, Any]]:
        """Return the workers that the master regards as alive."""
        return [worker for worker in self.state().get("workers", ()) if worker["state"] == "ALIVE"]

    def wait_for_workers(self, number: int) -> None:
        """Wait until the master regards as many workers as alive.

        Raises:
            ClusterError: it does not, or has exited.
        """
        self._wait("master", lambda: len(self.alive_workers()) == number)

    def log(self, name: str) -> str:
        """Return the log of the `master`, or of a worker such as `worker-1`, since its last start."""
        return (self._home(name) / "log").read_text(errors="replace")

    @property
    def _settings(self) -> Path:
        return self.directory / "spark.properties"

    def _home(self, name: str) -> Path:
        return self.directory / name

    def _launch_worker(self, worker: int) -> None:
        name = f"worker-{worker}"
        files = self._home(name)
        self._launch(
            name, "--port", "0", "--webui-port", "0", "--cores", str(self._cores), "--memory", self._memory,
            "--work-dir", str(files), self.url,
        )  # fmt: skip

    def _worker_port(self, worker: int) -> str:
        """Return the port of a worker, once it is in its log."""
        match = None
        while match is None:
            match = re.search(r"Starting Spark worker \S+?:(\d+) with", self.log(f"worker-{worker}"))
            if self._processes[f"worker-{worker}"].poll() is not None:
                raise self._error(f"worker-{worker}", "has exited")
            time.sleep(_POLL)
        return match[1]

    def _launch(self, name: str, *arguments: str) -> None:
        directory = self._home(name)
        directory.mkdir(exist_ok=True)
        with without_zip(directory) as home, (directory / "log").open("w") as log:
            spark = str(home or os.environ["SPARK_HOME"])
            inherited = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
            environment = inherited | {
                "SPARK_HOME": spark,
                "SPARK_LOCAL_IP": _HOST,
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": " ".join((*_QUICK, *archive_options(home))),
                "SPARK_LOCAL_DIRS": str(directory / "local"),
            }
            program = [f"{spark}/bin/spark-class", _CLASSES[name.partition("-")[0]], "--host", _HOST]
            self._processes[name] = subprocess.Popen(
                [*program, "--properties-file", str(self._settings), *arguments],
                cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def _kill(self, name: str) -> None:
        process = self._processes[name]
        process.kill()
        process.wait()

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not ready():
            if self._processes[name].poll() is not None:
                raise self._error(name, "has exited")
            if time.monotonic() > end:
                raise self._error(name, f"is not ready after {_PATIENCE:.0f} s")
            time.sleep(_POLL)

    def _error(self, name: str, how: str) -> ClusterError:
        return ClusterError(f"the {name} of the cluster {how}:\n{self.log(name)[-3000:]}")


def processes_below(directory: Path) -> list[psutil.Process]:
    """Return the processes whose working directory is a directory or below it, and that have not exited."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if Path(process.cwd()).is_relative_to(directory) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def kill_below(directory: Path) -> None:
    """Kill the processes whose working directory is below a directory, until none is left; they may start others."""
    while processes := processes_below(directory):
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(processes, timeout=_POLL)


@contextlib.contextmanager
def suspended(process: psutil.Process) -> Iterator[None]:
    """Suspend a process with SIGSTOP until the end of the block; it may be killed meanwhile."""
    process.suspend()
    try:
        yield
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _write_privately(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(number)]
        for free in sockets:
            free.bind((_HOST, 0))
        return [free.getsockname()[1] for free in sockets]


def _keep(directory: Path) -> None:
    """Kill the cluster in a directory when standard input ends: its owner has exited, or has stopped it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.buffer.read()
    kill_below(directory)


def main(arguments: list[str]) -> int:
    """Run a command of the first lines of this file; return its exit code."""
    match arguments:
        case ["keep", directory]:
            _keep(Path(directory))
        case [] | [_]:
            own = Path(tempfile.mkdtemp(prefix="spark-cluster-"))
            with Cluster(own, workers=int(arguments[0]) if arguments else 1) as cluster:
                print(f"{cluster.url} with {len(cluster.workers)} workers; files in {own}", flush=True)
                sys.stdin.read()
            shutil.rmtree(own, ignore_errors=True)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
