"""A run of an application with secrets in all settings, whose streamlets and servers fail with texts that have them."""

from __future__ import annotations

import os
import shutil
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from benchmarks.processes import killed_at_end
from streamlets.runner.state_directory.directory import StateDirectory
from tests.crossings.planted import Planter, found_in
from tests.kafka.secured import LOGIN

APPLICATION = Path(__file__).with_name("secret_app")
NAME = "planted_run"
VARIABLES = ("PLANTED_TOKEN", "PLANTED_PASSWORD", "PLANTED_KEY", "PLANTED_LOGIN_TOKEN", "PLANTED_UNUSED_SECRET")
"""The environment variables of the run that are secrets; no setting names the last one."""

FILES = ("feed.key", "key.next", "pages.key", "next", "bell.key")
"""The secret files; the second and the fourth replace the first and the third during the run."""

_SHOWN = 200  # characters of a command line


class _Echo(BaseHTTPRequestHandler):
    """Refuses each request, and repeats it in the answer."""

    def _refuse(self) -> None:
        body = f"refused: {self.path} {self.headers}".encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = _refuse  # noqa: N815 - names of the base class

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


class _Database(socketserver.BaseRequestHandler):
    """Speaks the protocol of PostgreSQL, asks for the password, and repeats it in its refusal."""

    def handle(self) -> None:
        """Answer a client until it has sent its password."""
        received = self.request.recv(65536)
        if received[4:8] == struct.pack(">I", 80877103):  # the client would like to use TLS
            self.request.sendall(b"N")
            self.request.recv(65536)
        self.request.sendall(b"R" + struct.pack(">II", 8, 3))
        password = self.request.recv(65536)[5:].rstrip(b"\0")
        fields = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for " + password + b"\0\0"
        self.request.sendall(b"E" + struct.pack(">I", len(fields) + 4) + fields)


@contextmanager
def servers() -> Iterator[tuple[str, str]]:
    """Provide the addresses of a web server and of a database, both of which refuse and repeat what they got."""
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as web,
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Database) as database,
    ):
        for server in (web, database):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{web.server_port}", f"127.0.0.1:{database.server_address[1]}"
        for server in (web, database):
            server.shutdown()


SMALL = ("call", "address", "function", "batch", "sql")
"""The readers of the small run: a query takes Spark seconds."""


def blueprint(planter: Planter, web: str, database: str, *, small: bool, bounded: bool) -> str:
    """Return a blueprint whose streamlets have secrets in everything that may have one.

    Arguments:
        web: the address of a web server.
        database: the address of a database.
        small: whether only some of the readers are in it.
        bounded: whether the run ends when its data is processed; otherwise a triggerer has secrets, too.
    """
    secret, settings, urls = planter.secret, planter.settings, planter.urls
    options = f"options {{ {settings()}, {urls()} }}"
    sinks = {
        "web": f'to = webhook, options {{ url = "http://{web}/p?token={secret()}", attempts = 1, '
        f'headers {{ Authorization = "Bearer {secret()}", X-Other = "{secret()}" }} }}',
        "database": f'to = jdbc, options {{ url = "postgresql://{database}/d", table = t, user = u, '
        f'password = "{secret()}" }}',
        "address": f'to = jdbc, options {{ url = "postgresql://u:{secret()}@{database}/d", table = t }}',
        "query": f'to = jdbc, options {{ url = "postgresql://{database}/d?user=u&password={secret()}", table = t }}',
        "call": f"to = function, options {{ function = planted_run.save, {settings()}, {urls()} }}",
        "source": f"to = data-source, options {{ class = planted_run.Telling, {settings()}, {urls()} }}",
        "lake": f'to = delta, options {{ url = "s3://bucket/t", storage {{ AWS_ENDPOINT_URL = "http://{web}", '
        f"AWS_ALLOW_HTTP = true, AWS_REGION = x, AWS_ACCESS_KEY_ID = {secret()}, AWS_SECRET_ACCESS_KEY = {secret()}, "
        f"AWS_SESSION_TOKEN = {secret()} }} }}",
        "catalog": f'to = iceberg, options {{ table = a.b, catalog.uri = "http://u:{secret()}@{web}/", '
        f'catalog.token = "{secret()}", catalog.s3.secret-access-key = "{secret()}" }}',
    }
    statements = (
        f"SAVE STREAM `in` TO jdbc OPTIONS ('url' = 'jdbc:postgresql://u@{database}/d?password={secret()}', "
        f"'table' = 't', 'password' = '${{deep.er}}{secret()}');"
    )
    readers = {
        "sql": f'''class = streamlets.Sql, inlets.in = "n bigint", parameters {{
          statements = """{statements}""", variables.deep.er = "{secret()}" }}''',
        "session": 'class = streamlets.Sink, inlets.in = "n bigint", parameters.to = noop, '
        f'spark.authenticate.secret = "{secret()}"',
    }
    readers |= {
        ref: f'class = streamlets.Sink, inlets.in = "n bigint", parameters {{ {to} }}' for ref, to in sinks.items()
    }
    readers |= {
        where: f'class = planted_run.Teller, parameters {{ where = {where}, password = "{secret()}", '
        f'address = "https://h/p?token={secret()}", login = ${{PLANTED_LOGIN_TOKEN}}, '
        f"options {{ {settings()}, {urls()} }} }}"
        for where in ("build", "function", "batch")
    }
    readers = {ref: text for ref, text in readers.items() if not small or ref in SMALL}
    lines = "\n".join(f"{ref} {{ {text} }}" for ref, text in readers.items())
    ports = ", ".join(f"{ref}.in" for ref in readers)
    bell = f"planted_run.Bell, config {{ first {{ env = PLANTED_KEY }}, second {{ file = bell.key }}, {settings()} }}"
    triggerer = "immediate, config { }" if bounded else bell
    return f'''
blueprint {{
  streamlets {{
    feed {{
      class = streamlets.Spout
      outlets.out = "n bigint"
      parameters {{
        cmd = [python, feed.py]  # its own secrets are on no command line
        env {{ {settings().replace("headers.", "password.")}, {urls()} }}
        secrets {{
          TOKEN {{ env = PLANTED_TOKEN }}, PASSWORD {{ env = PLANTED_PASSWORD }}, KEY {{ file = feed.key }}
          KEY_FILE {{ file = feed.key, as = path }}
        }}
      }}
    }}
    numbers {{ class = planted_run.Numbers, parameters {{ {options}, password = "{secret()}" }} }}
    pages {{
      class = planted_run.Pages
      parameters {{
        token {{ env = PLANTED_KEY }}, key {{ file = pages.key }}, {options}, password = "{secret()}"
        discovery {{ triggerer = {triggerer} }}, max-task-attempts = 2
      }}
    }}
    console {{ class = streamlets.Sink, inlets.in = "n bigint", parameters.to = terminal }}
    {lines}
  }}
  topics {{
    fed {{ producers = [feed.out, numbers.out], consumers = [{ports}] }}
    paged {{ producers = [pages.out], consumers = [console.in] }}
  }}
}}
flow.application = {NAME}
flow.retry {{ min-backoff = 50 ms, max-backoff = 50 ms, max-attempts = 1 }}
flow.streamlets.feed.retry.max-attempts = 9
flow.runtimes.spark {{ hadoop {{ {settings()}, {urls()} }} }}
flow.streamlets.batch.spark {{ spark.hadoop {{ {settings()} }} }}
'''


REGISTRY = "registry.conf"
"""Settings that give a topic of `kafka_blueprint` to the schema registry, which refuses."""


def kafka_blueprint(planter: Planter, password: str, servers: str, trusted: Path) -> str:
    """Return a blueprint whose topics are on a Kafka broker with logins.

    Arguments:
        password: of the user `flow`.
        servers: the address of the broker.
        trusted: the file with the certificate of the broker.
    """
    secret, settings, urls = planter.secret, planter.settings, planter.urls
    readers = "\n".join(
        f"{where} {{ class = planted_run.Teller, parameters {{ where = {where}, password = ${{PLANTED_KEY}}, "
        f"options {{ {settings()}, {urls()} }} }} }}"
        for where in ("function", "batch")
    )
    return f'''
blueprint {{
  streamlets {{
    numbers {{ class = planted_run.Numbers, parameters {{ options {{ {settings()} }}, password = "{secret()}" }} }}
    {readers}
  }}
  topics.fed {{ producers = [numbers.out], consumers = [function.in, batch.in], topic.partitions = 1 }}
}}
flow.application = {NAME}
flow.channel = kafka
flow.kafka.clusters.default {{
  bootstrap.servers = "{servers}"
  connection-config {{
    security.protocol = SASL_SSL, sasl.mechanism = PLAIN
    sasl.jaas.config = """{LOGIN} username="flow" password="{password}";"""
    ssl.truststore.type = PEM, ssl.truststore.location = "{trusted}", ssl.key.password = "{secret()}"
  }}
}}
flow.retry {{ min-backoff = 50 ms, max-backoff = 50 ms, max-attempts = 1 }}
'''


def write_kafka(directory: Path, planter: Planter, password: str, servers: str, trusted: Path, web: str) -> None:
    """Write the application on Kafka; see `kafka_blueprint` for the arguments, and `blueprint` for the web server."""
    _write(directory, planter, kafka_blueprint(planter, password, servers, trusted))
    (directory / REGISTRY).write_text(
        f'flow.topics.fed {{ format = confluent, schema-registry {{ url = "http://{web}", '
        f'basic.auth.user.info = "flow:{planter.secret()}" }} }}'
    )
    (directory / "login.conf").write_text(
        "flow.kafka.clusters.default.connection-config.sasl.jaas.config = "
        f'"""{LOGIN} username="flow" password="{planter.secret()}";"""'
    )


def _write(directory: Path, planter: Planter, text: str) -> None:
    shutil.copytree(APPLICATION, directory, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "marks").mkdir()
    (directory / "blueprint.conf").write_text(text)
    for name in FILES:
        (directory / name).write_text(f"{planter.secret()}\n")


def write(directory: Path, planter: Planter, web: str, database: str, *, small: bool, bounded: bool) -> None:
    """Write the application with its secret files; see `blueprint` for the arguments."""
    _write(directory, planter, blueprint(planter, web, database, small=small, bounded=bounded))


@dataclass
class Watch:
    """Looks at the command lines and environments of all processes of a run, until it ends.

    Processes with code of the author (the run, drivers, Java, the workers of Python) have the environment of
    `flow run`, which may have secrets. The program of a spout and the process that watches it have those of the spout.

    Arguments:
        process: the first process of the run.
        own: the secrets in the environment of the run.
        spouts: the secrets in the environments of spouts.

    Attributes:
        programs: the beginnings of the command lines of all processes.
        sightings: the secrets that are elsewhere, by the beginning of the command line.
    """

    process: psutil.Process
    own: frozenset[str]
    spouts: frozenset[str]
    programs: dict[int, str] = field(default_factory=dict)
    sightings: dict[str, set[str]] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look again and again, in a thread."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.05):
                self.look()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        yield
        ended.set()
        thread.join()

    def look(self) -> None:
        """Look once."""
        with suppress(psutil.Error):
            for process in (self.process, *self.process.children(recursive=True)):
                with suppress(psutil.Error, OSError):
                    self._check(process)

    def _check(self, process: psutil.Process) -> None:
        command = " ".join(process.cmdline())
        environment = found_in("\0".join(f"{name}={value}" for name, value in process.environ().items()))
        self.programs[process.pid] = command[:_SHOWN]
        allowed = self.spouts if "guard.py" in command or "feed.py" in command else self.own
        if told := found_in(command) | (environment - allowed):
            self.sightings[command[:_SHOWN]] = told


@dataclass(frozen=True)
class Ended:
    """A run that has ended.

    Arguments:
        code: its exit code.
        output: its standard output and standard error.
        environment: its environment variables that are secrets.
        planted: the secrets of its settings, files and environment.
        watch: what was seen of its processes.
    """

    code: int
    output: str
    environment: dict[str, str]
    planted: set[str]
    watch: Watch


def run(
    directory: Path,
    planter: Planter,
    options: Sequence[str],
    during: Callable[[Mapping[str, str]], object],
    seconds: float = 600.0,
) -> Ended:
    """Run an application until it ends, and look at its processes meanwhile.

    Arguments:
        directory: the directory of the application.
        planter: makes the secrets of its environment.
        options: of `flow run`.
        during: called again and again while it runs, with the variables of its environment that are secrets.
        seconds: how long it may take.
    """
    environment = {name: planter.secret() for name in VARIABLES}
    text = (directory / "blueprint.conf").read_text()
    files = [(directory / name).read_text() for name in FILES]
    settings = [file.read_text() for file in directory.glob("*.conf")]
    planted = found_in(" ".join([*settings, *files, *environment.values()]))
    # Its `env` and `secrets`; the beginning of the blueprint is the spout.
    spouts = found_in(" ".join([text.partition("numbers {")[0], *files, *environment.values()]))
    output = directory.parent / "output"
    with output.open("wb") as out, killed_at_end(
        subprocess.Popen(
            [sys.executable, "-m", "streamlets", "run", str(directory), *options],
            stdout=out, stderr=subprocess.STDOUT, env=os.environ | environment, cwd=directory,
        )
    ) as process:  # fmt: skip
        watch = Watch(psutil.Process(process.pid), frozenset(environment.values()), frozenset(spouts))
        deadline = time.monotonic() + seconds
        with watch.watching():
            while process.poll() is None:
                assert time.monotonic() < deadline, output.read_text()
                during(environment)
                time.sleep(0.1)
    return Ended(process.returncode, output.read_text(), environment, planted, watch)


def state_of(directory: Path) -> StateDirectory:
    """Return the state directory of the application."""
    return StateDirectory(directory / ".flow", NAME)
