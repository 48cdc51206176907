"""A PostgreSQL server for tests, from the package of the operating system."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs() -> Path | None:
    """Return the directory of the server's programs; None if it is not installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb")
    return installed[-1].parent if installed else Path(found).parent if found else None


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """Return the URL of a PostgreSQL server with logical decoding, which all tests of this process share."""
    bin = programs()
    if bin is None:
        assert not os.environ.get("CI"), "PostgreSQL is not installed: .ci/postgresql installs it"
        pytest.skip("PostgreSQL is not installed: .ci/postgresql installs it")
    with running(bin, wal_level="logical") as url:
        yield url


@contextmanager
def running(bin: Path, **settings: str) -> Iterator[str]:
    """Run a server on a free port of this machine, and provide the URL of its database.

    The server refuses to run as root, so it runs as another user then, in a directory which that user can read.

    Arguments:
        bin: the directory of its programs.
        settings: further settings by name.
    """
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as name:
        if user is not None:
            shutil.chown(name, user)
        data = f"{name}/data"
        initialize = [str(bin / "initdb"), "-D", data, "-U", "tester", "--auth=trust", "--encoding=UTF8", "--no-sync"]
        subprocess.run(initialize, check=True, capture_output=True, user=user, cwd=name)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={name} -c fsync=off"
        options += "".join(f" -c {name}={value}" for name, value in settings.items())
        control = [str(bin / "pg_ctl"), "-D", data, "-w", "-t", "300"]
        start = [*control, "-l", f"{name}/log", "-o", options, "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, user=user, cwd=name)
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            stop = [*control, "-m", "immediate", "stop"]
            subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, user=user, cwd=name)
