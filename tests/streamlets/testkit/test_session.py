"""The Spark session of the testkit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from streamlets.testkit import start_session

session = start_session("local[1]", directory=sys.argv[1])
logger = session._jvm.org.apache.logging.log4j.LogManager.getLogger("shop.Orders")
logger.warn("a warning")
logger.error("an error")
session.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_only_errors_are_shown(tmp_path: Path) -> None:
    """Not what Spark prints when it starts, which pytest would show with the first test that fails."""
    directory = tmp_path / "a directory"
    command = [sys.executable, "-c", PROGRAM, str(directory)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    lines = [
        line for line in done.stderr.splitlines() if not line.startswith(("WARNING: Using incubator", "Picked up"))
    ]
    assert [line.partition(" ERROR ")[2] for line in lines] == ["Orders: an error"], done.stderr
