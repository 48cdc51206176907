"""A Redis server for tests, from the package of the operating system."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LIMIT = 300.0


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """Return the URL of a server that all tests of this process share, so names of topics must be free."""
    if shutil.which("redis-server") is None:
        assert not os.environ.get("CI"), "Redis is not installed: .ci/redis installs it"
        pytest.skip("Redis is not installed: .ci/redis installs it")
    with running() as url:
        yield url


@contextmanager
def running() -> Iterator[str]:
    """Run a server on a free port of this machine, with an append-only file in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="redis-", ignore_cleanup_errors=True) as directory:
        while True:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", directory, "--appendonly", "yes"]
            process = subprocess.Popen(["redis-server", *options, "--save", ""], stdout=subprocess.DEVNULL)
            try:
                if _answers(process, port):
                    yield f"redis://127.0.0.1:{port}/0"
                    return
            finally:
                process.kill()
                process.wait()


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until a server answers; return False if it has exited because another process took its port."""
    end = time.monotonic() + LIMIT
    while process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(7).startswith(b"+PONG"):
                    return process.poll() is None
        except OSError:
            assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.01)
    return False
