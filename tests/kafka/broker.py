"""A real Kafka broker on loopback, for people and tests: a single KRaft node from Maven artifacts.

    python -m tests.kafka.broker start [PORT]    start it in .kafka, and wait until it answers
    python -m tests.kafka.broker stop            stop it; its topics stay in .kafka
    python -m tests.kafka.broker run COMMAND     run a command with a broker of its own, the address as last argument

Tests share one per machine (`shared`). It is stopped when the last process that uses it has exited, however it exits.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from streamlets.artifacts.java import java_command
from streamlets.artifacts.maven import ArtifactError, Coordinate, fetch

PACKAGES = (Coordinate("org.apache.kafka", "kafka_2.13", "3.9.1"), Coordinate("org.slf4j", "slf4j-simple", "1.7.36"))
_REPOSITORY = Path(__file__).parents[2]
_HOST = "127.0.0.1"
_PORT = 9092
_SERVERS_SETTING = "flow.kafka.clusters.default.bootstrap.servers"
# Seconds until a broker answers or exits, and between two looks.
_PATIENCE = 180.0
_POLL = 0.1
# Attempts with other ports, when another process has taken the free ones.
_ATTEMPTS = 3
# Without these, internal topics have 50 partitions and three replicas.
_SMALL = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": str(8 * 2**20),
    "auto.create.topics.enable": "false",
}


class BrokerError(Exception):
    """The broker does not start; the message has the end of its log."""


class Broker:
    """A broker with its data, settings, log and process id in a directory."""

    def __init__(
        self, directory: Path, *, port: int | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        """Describe a broker; `start` starts it.

        Arguments:
            directory: its directory, which a later broker with the same directory continues.
            port: its port; None for a free one, which it keeps when it is started again.
            properties: further settings of the server, which override those chosen here; `{host}`, `{port}` and
                `{controller}` in them are replaced.
        """
        self.directory = directory
        self._port = port
        self._properties = dict(properties or {})
        self._settings = directory / "server.properties"
        self._log = directory / "kafka.log"
        self._process_id = directory / "pid"

    @property
    def servers(self) -> str:
        """The value of `bootstrap.servers`, once it was started."""
        return (self.directory / "servers").read_text(encoding="utf-8")

    def start(self) -> None:
        """Start the broker unless it is running, and wait until it answers.

        Raises:
            ArtifactError: its jars cannot be fetched.
            BrokerError: it does not start.
        """
        if self.process() is not None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        class_path = os.pathsep.join(map(str, fetch(PACKAGES)))
        for attempt in range(_ATTEMPTS):
            if self._port is not None or not self._settings.exists():
                self._configure()
            if not (self.directory / "data" / "meta.properties").exists():
                self._format(class_path)
            try:
                self._wait(self._launch(class_path))
                break
            except BrokerError:
                self.stop()
                taken = "Address already in use" in self._log.read_text(errors="replace")
                if not taken or self._port is not None or attempt == _ATTEMPTS - 1:
                    raise
                self._settings.unlink()

    def stop(self) -> None:
        """Stop the broker, and wait until it has exited; kill it if it does not exit."""
        if process := self.process():
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except psutil.TimeoutExpired:
                self.kill()
        self._process_id.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill the broker, as a machine that fails does; `start` starts it again on its port."""
        if process := self.process():
            process.kill()
            process.wait(_PATIENCE)
        self._process_id.unlink(missing_ok=True)

    def process(self) -> psutil.Process | None:
        """Return the process of the broker; None if it is not running."""
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            process = psutil.Process(int(self._process_id.read_text()))
            # The system may have given the number to another process.
            if str(self._settings) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _configure(self) -> None:
        """Write the settings of the server, with ports that are free."""
        port, controller = self._port or _free_port(), _free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{_HOST}:{controller}",
            "listeners": f"PLAINTEXT://{_HOST}:{port},CONTROLLER://{_HOST}:{controller}",
            "advertised.listeners": f"PLAINTEXT://{_HOST}:{port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.directory / "data"),
            **_SMALL,
            **{
                key: value.format(port=port, controller=controller, host=_HOST)
                for key, value in self._properties.items()
            },
        }
        (self.directory / "servers").write_text(f"{_HOST}:{port}", encoding="utf-8")
        self._settings.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")

    def _format(self, class_path: str) -> None:
        """Prepare the directory of the data for a new cluster."""
        command = [java_command(), "-XX:TieredStopAtLevel=1", "-cp", class_path, "kafka.tools.StorageTool", "format"]
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        options = [f"--cluster-id={identity}", f"--config={self._settings}"]
        tool = subprocess.run([*command, *options], capture_output=True, text=True)
        if tool.returncode != 0:
            raise BrokerError(f"the data of the broker cannot be formatted:\n{(tool.stdout + tool.stderr)[-2000:]}")

    def _launch(self, class_path: str) -> psutil.Process:
        command = [java_command(), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", class_path, "kafka.Kafka"]
        with self._log.open("w") as log:
            process = psutil.Popen(
                [*command, str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._process_id.write_text(str(process.pid), encoding="utf-8")
        return process

    def _wait(self, process: psutil.Process) -> None:
        """Wait until the broker has started: then it answers."""
        end = time.monotonic() + _PATIENCE
        while "Kafka Server started" not in self._log.read_text(errors="replace"):
            exited = not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
            if exited or time.monotonic() > end:
                how = "has exited" if exited else f"has not started after {_PATIENCE:.0f} s"
                raise BrokerError(f"the broker {how}:\n{self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(_POLL)


@contextlib.contextmanager
def shared(directory: Path | None = None) -> Iterator[str]:
    """Give the `bootstrap.servers` of the broker that all tests of this machine share, started by the first of them.

    A process of its own keeps the broker until no process is left that uses it. Locks of files tell it: the system
    releases them when a process exits.

    Arguments:
        directory: the broker's directory; None for that of this user.

    Raises:
        ArtifactError: its jars cannot be fetched.
        BrokerError: it does not start.
    """
    directory = directory or Path(tempfile.gettempdir()) / f"streamlets-kafka-{os.getuid()}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _lock(directory / "users", fcntl.LOCK_SH):
        with _lock(directory / "start", fcntl.LOCK_EX):
            fetch(PACKAGES)
            _find_or_start_keeper(directory)
        yield Broker(directory / "broker").servers


def _find_or_start_keeper(directory: Path) -> None:
    """Wait until the shared broker answers; start the process that keeps it unless that is running."""
    ready, log = directory / "ready", directory / "keeper.log"
    keeper: subprocess.Popen[bytes] | None = None
    while not ((running := _is_locked(directory / "keeper")) and ready.exists()):
        if keeper is None and not running:
            ready.unlink(missing_ok=True)  # left behind by a keeper that was killed
            with log.open("w") as output:
                command = [sys.executable, "-m", "tests.kafka.broker", "keep", str(directory)]
                keeper = subprocess.Popen(
                    command, cwd=_REPOSITORY, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True
                )  # fmt: skip
        elif keeper is not None and keeper.poll() is not None:
            raise BrokerError(f"the broker did not start:\n{log.read_text()[-2000:]}")
        time.sleep(_POLL)


def _keep(directory: Path) -> None:
    """Start the shared broker, and stop it when no process uses it; its data is deleted then."""
    broker = Broker(directory / "broker")
    with contextlib.ExitStack() as keeping:
        keeping.enter_context(_lock(directory / "keeper", fcntl.LOCK_EX))
        broker.kill()  # left behind by a keeper that was killed
        shutil.rmtree(broker.directory, ignore_errors=True)
        broker.start()
        (directory / "ready").touch()
        with _lock(directory / "users", fcntl.LOCK_EX):
            broker.stop()
            shutil.rmtree(broker.directory, ignore_errors=True)
            # A new user waits for the lock of the users, and then finds no keeper.
            keeping.close()


@contextlib.contextmanager
def _lock(file: Path, kind: int) -> Iterator[None]:
    with file.open("a") as opened:
        fcntl.flock(opened, kind)
        yield


def _is_locked(file: Path) -> bool:
    with file.open("a") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port: int = free.getsockname()[1]
        return port


def main(arguments: list[str]) -> int:
    """Run a command of the first lines of this file; return its exit code."""
    local = Path(".kafka").absolute()
    try:
        match arguments:
            case ["start", *port]:
                broker = Broker(local, port=int(port[0]) if port else _PORT)
                broker.start()
                print(f"Kafka answers on {broker.servers}; its topics are in {local}. `make kafka-stop` stops it.")
                print(f"Use it with: flow run flow.channel=kafka '{_SERVERS_SETTING}=\"{broker.servers}\"'")
            case ["stop"]:
                Broker(local).stop()
            case ["run", *command] if command:
                with tempfile.TemporaryDirectory(prefix="streamlets-kafka-") as own, Broker(Path(own)) as broker:
                    return subprocess.call([*command, f'{_SERVERS_SETTING}="{broker.servers}"'])
            case ["keep", directory]:
                _keep(Path(directory))
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except ArtifactError as error:
        print(f"{error}\nhelp: {error.help}", file=sys.stderr)
        return 1
    except BrokerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
