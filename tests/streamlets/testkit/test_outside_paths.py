"""Tests write only to the kit: sinks, mounts and paths are moved into its directory, other output is an error."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamlets import AvroInlet, Queries, SparkStreamlet, SparkStreamletLogic, VolumeMount
from streamlets.testkit import StepFailedError, Testkit, TestkitError
from streamlets.testkit.guard import Guard
from streamlets.testkit.outside_paths import OutsidePaths

READING = "src string, value double"

MODULE = '''
from pathlib import Path

from streamlets import *

READING = "src string, value double"
OUT = Path(__file__).parent / "out"


class Copy(SparkStreamlet):
    """Copies records."""

    raw = AvroInlet(schema=READING)
    kept = AvroOutlet(schema=READING)

    class Logic(SparkStreamletLogic["Copy"]):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.raw), self.streamlet.kept)


class Log(SparkStreamlet):
    """Writes to a directory that is defined in the code."""

    rows = AvroInlet("in", schema=READING)

    class Logic(SparkStreamletLogic["Log"]):
        def build_streaming_queries(self):
            rows = self.read_stream(self.streamlet.rows)
            return self.query("log", rows.writeStream.format("json").option("path", str(OUT / "log")))
'''

BLUEPRINT = f"""
blueprint {{
  streamlets {{
    copy = app.Copy
    log = app.Log
    archive {{
      class = streamlets.Sink, inlets.in = "{READING}"
      parameters {{ to = parquet, options {{ path = out/archive, existing = replace }} }}
    }}
    board {{ class = streamlets.Sink, inlets.in = "{READING}", parameters.to = terminal }}
  }}
  topics {{
    raw  {{ consumers = [copy.raw], managed = no }}
    kept {{ producers = [copy.kept], consumers = [archive.in, board.in, log.in] }}
  }}
}}
"""

ROWS = [{"src": "a", "value": 1.0}, {"src": "b", "value": None}]


def by_source(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Sort the rows of a sink, which have no order."""
    return sorted(rows, key=lambda row: str(row["src"]))


def tree(root: Path) -> dict[str, bytes]:
    """Return all files of a directory with their content."""
    files = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create an application with output of a production run."""
    project = tmp_path / "app"
    for name in (
        "out/archive/archive-1-000000-00000.parquet",
        "out/archive/_batches/archive/1/files",
        "out/log/1.json",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("production")
    (project / "app.py").write_text(MODULE)
    (project / "blueprint.conf").write_text(BLUEPRINT)
    return project


@pytest.mark.spark
@pytest.mark.timeout(900)  # the first test with Spark starts it
def test_an_application_under_test_does_not_change_production_data(
    kit: Testkit, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every sink writes to the kit, where its rows can be read; nothing is printed."""
    before = tree(project)
    app = kit.application(project / "blueprint.conf")
    app.topic("raw").put(ROWS)
    app.step()
    for name in ("archive", "board", "log"):
        rows = app.sink(name).take()
        assert by_source([{"value": None} | row for row in rows]) == ROWS, name
        assert app.sink(name).path.is_relative_to(kit.directory)
    app.topic("raw").put([{"src": "c", "value": 3.0}])
    app.step()
    assert app.sink("archive").take() == app.sink("log").take() == [{"src": "c", "value": 3.0}]
    assert len(app.sink("board").all()) == 3
    assert tree(project) == before
    assert capsys.readouterr().out == ""
    with pytest.raises(TestkitError, match="`copy` has no query whose files can be read"):
        app.sink("copy")
    with pytest.raises(TestkitError, match="there is no streamlet `archiv`; did you mean `archive`"):
        kit.application(project / "blueprint.conf", real=["archiv"])


@pytest.mark.spark
def test_a_real_sink_does_not_delete_files_of_another_application(kit: Testkit, project: Path) -> None:
    """A test with the real sink and `existing = replace` does not delete production data."""
    before = tree(project)
    app = kit.application(project / "blueprint.conf", real=["archive"])
    app.topic("raw").put(ROWS)
    with pytest.raises(StepFailedError, match="has files of another application"):
        app.step()
    assert tree(project) == before


class Appending(SparkStreamlet):
    """Appends a line per batch to a file in its mount, or to a file of the test."""

    rows = AvroInlet("in", schema=READING)
    store = VolumeMount(path="/srv/store")
    target: str = ""

    class Logic(SparkStreamletLogic["Appending"]):
        """Writes with a function of the author."""

        def build_streaming_queries(self) -> Queries:
            """Return one query."""
            me = self.streamlet
            file = Path(me.target) if me.target else self.mounted_path(me.store) / "lines"

            def append(rows: object, batch: int) -> None:
                with file.open("a") as lines:
                    lines.write(f"{batch}\n")

            return self.query("lines", self.read_stream(me.rows).writeStream.foreachBatch(append))


@pytest.mark.spark
def test_functions_of_the_author_may_write_only_to_the_kit(kit: Testkit, tmp_path: Path) -> None:
    """A mount is a copy of the real one; writing to a path in the code is an error, because it cannot be moved."""
    store = tmp_path / "store"
    store.mkdir()
    (store / "lines").write_text("production\n")
    mounted = kit.streamlet(Appending, ref="mounted", volume_mounts={"store": store})
    mounted.inlet("in").put(ROWS)
    mounted.step()
    assert (store / "lines").read_text() == "production\n"
    assert (mounted.path("store") / "lines").read_text() == "production\n0\n"

    Appending.target = str(tmp_path / "direct")
    try:
        direct = kit.streamlet(Appending, ref="direct", volume_mounts={"store": store})
        direct.inlet("in").put(ROWS)
        with pytest.raises(StepFailedError, match=r"`direct` writes `.*/direct`, outside of the test"):
            direct.step()
        assert not (tmp_path / "direct").exists()
        allowed = kit.streamlet(Appending, ref="allowed", volume_mounts={"store": store}, real=True)
        allowed.inlet("in").put(ROWS)
        allowed.step()
        assert (tmp_path / "direct").read_text() == "0\n"
    finally:
        Appending.target = ""


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    """Provide a guard whose kit is next to a precious file."""
    (tmp_path / "precious").write_text("rows")
    (tmp_path / "kit").mkdir()
    yield Guard("mine", OutsidePaths(tmp_path / "kit", tmp_path / "kit" / "app"), "real=True")
    assert (tmp_path / "precious").read_text() == "rows"


@pytest.mark.parametrize(
    "effect",
    [
        lambda file: file.write_text("x"),
        lambda file: os.close(os.open(file, os.O_RDWR)),
        lambda file: file.unlink(),
        lambda file: file.rename(file.with_name("other")),
        lambda file: shutil.rmtree(file.parent / "kit" / ".."),
        lambda file: (file.parent / "directory").mkdir(),
        lambda file: sqlite3.connect(file.with_name("database")),
        lambda file: os.truncate(file, 0),
        lambda file: subprocess.run(["true"], check=True),
        lambda file: socket.create_connection(("192.0.2.1", 9), timeout=0.01),
    ],
)
def test_effects_outside_of_the_kit_are_errors(guard: Guard, tmp_path: Path, effect: Callable[[Path], object]) -> None:
    """This includes writing, removing, connecting and starting programs; the message explains what to do."""
    with guard.authors(), pytest.raises(TestkitError, match=r"^`mine` .* outside of the test.*with `real=True`$"):
        effect(tmp_path / "precious")


def test_reading_and_effects_in_the_kit_are_allowed(guard: Guard, tmp_path: Path) -> None:
    """Temporary files and connections within the machine are allowed, too."""
    with guard.authors():
        assert (tmp_path / "precious").read_text() == "rows"
        inside = tmp_path / "kit" / "a" / "b"
        inside.mkdir(parents=True)
        (inside / "file").write_text("x")
        sqlite3.connect(inside / "database").close()
        shutil.rmtree(inside)
        with tempfile.TemporaryDirectory() as temporary:
            Path(temporary, "file").write_text("x")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("x")
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()


def test_only_code_of_the_author_is_guarded(guard: Guard, tmp_path: Path) -> None:
    """The test itself may write anywhere."""
    with guard.authors():
        pass
    (tmp_path / "mine").write_text("x")


def test_a_mount_that_is_too_large_to_copy_is_an_error(
    kit_without_spark: Testkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message explains what to do."""
    monkeypatch.setattr("streamlets.testkit.outside_paths.MAX_COPIED_BYTES", 3)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "table").write_text("1234")
    with pytest.raises(TestkitError, match=r"`store` of `a` is writable, .* use less data in the test"):
        kit_without_spark.streamlet(Appending, ref="a", volume_mounts={"store": tmp_path / "store"})


@pytest.fixture
def kit_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testkit:
    """Return a kit for tests that do not need a session."""
    return Testkit(None, tmp_path / "kit")
