"""The tutorial: each file is written, each command is run, and the outputs are those on the page.

Times, durations and process ids on the page stand for any others. After a change, the failure shows the new output.
"""

from __future__ import annotations

import contextlib
import getpass
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.processes import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)

VOLATILE = (
    (re.compile(r" \(\d+:\d\d:\d\d\)"), ""),  # pytest adds it to more than a minute
    (re.compile(r"\b(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b(in )?(\d+ (h|min) )?\d+(\.\d+)?( ms| s| min|s)\b"), "DURATION"),
    (re.compile(r"process \d+"), "process ID"),
    (re.compile(rf"stopped by ({re.escape(getpass.getuser())}|you)"), "stopped by USER"),
    (re.compile(r"[ ]+"), " "),
)


def normalized(output: str) -> list[str]:
    """Return lines of output without what differs from run to run, and without the widths of columns."""
    for pattern, replacement in VOLATILE:
        output = pattern.sub(replacement, output)
    return [line.rstrip() for line in output.splitlines()]


class Reader:
    """Does what the page says.

    Arguments:
        directory: the working directory in which the page begins.
        spark: the session for the tests that the page runs.
    """

    def __init__(self, directory: Path, spark: SparkSession) -> None:
        self.directory = directory
        self._spark = spark
        self._log = directory / "terminal-2"
        self._process: subprocess.Popen[bytes] | None = None
        binaries = str(Path(sys.executable).parent)
        self._environment = {**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
        self._environment["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"
        self._environment.pop("PYTHONPATH", None)

    def follow(self, page: str) -> None:
        """Write the files of a page and run its commands, in the order of the page."""
        for language, name, text in BLOCK.findall(page):
            if language == "console":
                for command, expected in COMMAND.findall(text):
                    self._check(command, expected, background=bool(name))
            elif name:
                # A source of files must not see half of one.
                unfinished = self.directory / f"{name}.new"
                unfinished.write_text(text, encoding="utf-8")
                unfinished.rename(self.directory / name)

    def close(self) -> None:
        """End the application if the page did not."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _check(self, command: str, expected: str, *, background: bool) -> None:
        if command.startswith("cd "):
            self.directory /= command.removeprefix("cd ")
        elif background:
            self._start(command, expected)
        elif command.startswith("pytest"):
            assert normalized(self._test(command.split()[1:])) == normalized(expected)
        else:
            self._compare(command, expected)

    def _compare(self, command: str, expected: str) -> None:
        """Run a command; while the application runs, until it has processed what the page is about."""
        output = self._run(command)

        def as_expected() -> bool:
            nonlocal output
            if normalized(output) != normalized(expected):
                output = self._run(command)
            return normalized(output) == normalized(expected)

        if self._process is not None:
            with contextlib.suppress(RuntimeError):  # the assertion shows the output
                wait_until(self._process, self._log, as_expected, seconds=300)
        assert normalized(output) == normalized(expected), f"$ {command}\n{output}"

    def _run(self, command: str) -> str:
        done = subprocess.run(
            command, shell=True, cwd=self.directory, env=self._environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.stdout

    def _start(self, command: str, expected: str) -> None:
        """Start the application, and wait for each line that the page shows."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, shell=True, cwd=self.directory, env=self._environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        for line in normalized(expected):
            wait_until(self._process, self._log, lambda line=line: line in self._logged(), seconds=240)  # type: ignore[misc]

    def _logged(self) -> list[str]:
        return normalized(self._log.read_text(encoding="utf-8"))

    def _test(self, arguments: list[str]) -> str:
        """Run the tests of the project in this process, on the Spark session that exists."""
        output = io.StringIO()
        modules = set(sys.modules)
        path = list(sys.path)
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
            patch.chdir(self.directory)
            patch.setattr("streamlets.testkit.start_session", lambda **_: self._spark)
            patch.setattr("pyspark.sql.SparkSession.stop", lambda _: None)
            patch.setenv("COLUMNS", "80")
            patch.delenv("PYTEST_XDIST_WORKER", raising=False)
            pytest.main(
                [
                    *arguments,
                    "-p",
                    "no:cacheprovider",
                    "-p",
                    "no:xdist",
                    "-p",
                    "no:timeout",
                    "-p",
                    "no:warnings",
                    "--color=no",
                ]
            )
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if name.partition(".")[0] in ("shop", "tests", "test_orders", "test_totals"):
                del sys.modules[name]
        return output.getvalue()


@pytest.fixture
def reader(tmp_path: Path, spark: SparkSession) -> Iterator[Reader]:
    """A reader in an empty directory."""
    reader = Reader(tmp_path, spark)
    yield reader
    reader.close()


@pytest.mark.spark
@pytest.mark.slow
def test_the_tutorial_is_right(reader: Reader) -> None:
    """Every command works, with the output on the page."""
    reader.follow(PAGE.read_text(encoding="utf-8"))


def test_what_differs_from_run_to_run_is_not_compared() -> None:
    """Times, durations, process ids and widths of columns; but not counts."""
    assert normalized("12:00:01  up for 3 s, process 12") == normalized("13:10:11 up for 17 min, process 4711")
    assert normalized("a  3") != normalized("a  4")
