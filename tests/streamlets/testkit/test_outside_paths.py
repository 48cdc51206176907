"""Tests write nothing outside: sinks, mounts and paths are in the kit's directory, and what cannot be is refused."""

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
from streamlets.testkit.outside_paths import Outside

READING = "src string, value double"

MODULE = '''
from pathlib import Path

from streamlets import *

READING = "src string, value double"
OUT = Path(__file__).parent / "out"


class Copy(SparkStreamlet):
    """Records to records."""

    raw = AvroInlet(schema=READING)
    kept = AvroOutlet(schema=READING)

    class Logic(SparkStreamletLogic["Copy"]):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.raw), self.streamlet.kept)


class Log(SparkStreamlet):
    """A query of its own into a directory that stands in its code."""

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
    """Rows of a sink come in no order."""
    return sorted(rows, key=lambda row: str(row["src"]))


def tree(root: Path) -> dict[str, bytes]:
    """All files of a directory with their content."""
    files = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An application that has run in production: its sinks hold rows, in directories that they know as their own."""
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
@pytest.mark.timeout(900)  # the first one of a run waits for Spark, too
def test_an_application_under_test_leaves_production_alone(
    kit: Testkit, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every sink writes into the kit, where its rows can be read; nothing outside changes, and nothing is shown."""
    before = tree(project)
    app = kit.application(project / "blueprint.conf")
    app.topic("raw").put(ROWS)
    app.step()
    for name in ("archive", "board", "log"):
        rows = app.sink(name).take()
        assert by_source([{"value": None} | row for row in rows]) == ROWS, name
        assert app.sink(name).path.is_relative_to(kit.folder)
    app.topic("raw").put([{"src": "c", "value": 3.0}])
    app.step()
    assert app.sink("archive").take() == app.sink("log").take() == [{"src": "c", "value": 3.0}]
    assert len(app.sink("board").all()) == 3
    assert tree(project) == before
    assert capsys.readouterr().out == ""
    with pytest.raises(TestkitError, match="`copy` has no query whose files could be read"):
        app.sink("copy")
    with pytest.raises(TestkitError, match="there is no streamlet `archiv`; did you mean `archive`"):
        kit.application(project / "blueprint.conf", real=["archiv"])


@pytest.mark.spark
def test_what_another_application_wrote_stays_even_on_the_real_sink(kit: Testkit, project: Path) -> None:
    """`existing = replace` in a test that asks for the real sink does not delete what production wrote."""
    before = tree(project)
    app = kit.application(project / "blueprint.conf", real=["archive"])
    app.topic("raw").put(ROWS)
    with pytest.raises(StepFailedError, match="holds files that another application wrote"):
        app.step()
    assert tree(project) == before


class Appending(SparkStreamlet):
    """Appends to a file of its mount, or to one that the test names, batch by batch."""

    rows = AvroInlet("in", schema=READING)
    store = VolumeMount(path="/srv/store")
    target: str = ""

    class Logic(SparkStreamletLogic["Appending"]):
        """One query."""

        def build_streaming_queries(self) -> Queries:
            """Rows to lines."""
            me = self.streamlet
            file = Path(me.target) if me.target else self.mounted_path(me.store) / "lines"

            def append(rows: object, batch: int) -> None:
                with file.open("a") as lines:
                    lines.write(f"{batch}\n")

            return self.query("lines", self.read_stream(me.rows).writeStream.foreachBatch(append))


@pytest.mark.spark
def test_functions_of_the_author_write_in_the_kit_or_are_refused(kit: Testkit, tmp_path: Path) -> None:
    """A mount is a copy of the real one; a file that stands in the code cannot be moved, and is refused."""
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
    """The guard of a streamlet, with its kit in a directory beside a precious file."""
    (tmp_path / "precious").write_text("rows")
    (tmp_path / "kit").mkdir()
    yield Guard("mine", Outside(tmp_path / "kit", tmp_path / "kit" / "app"), "real=True")
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
def test_effects_outside_are_refused(guard: Guard, tmp_path: Path, effect: Callable[[Path], object]) -> None:
    """Whatever Python offers to write, remove, connect or start; the message names the way out."""
    with guard.authors(), pytest.raises(TestkitError, match=r"^`mine` .* outside of the test.*with `real=True`$"):
        effect(tmp_path / "precious")


def test_effects_inside_and_reading_are_allowed(guard: Guard, tmp_path: Path) -> None:
    """Reading anywhere, writing in the kit, temporary files and connections within the machine."""
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


def test_nothing_is_refused_outside_of_the_authors_code(guard: Guard, tmp_path: Path) -> None:
    """The test itself, and other threads, do what they like."""
    with guard.authors():
        pass
    (tmp_path / "mine").write_text("x")


def test_a_mount_that_is_too_large_to_copy_is_refused(
    kit_without_spark: Testkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to do instead."""
    monkeypatch.setattr("streamlets.testkit.outside_paths.MOST_COPIED", 3)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "table").write_text("1234")
    with pytest.raises(TestkitError, match=r"`store` of `a` is writable, .* give the test less"):
        kit_without_spark.streamlet(Appending, ref="a", volume_mounts={"store": tmp_path / "store"})


@pytest.fixture
def kit_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testkit:
    """A kit for tests that end before a session is needed."""
    return Testkit(None, tmp_path / "kit")  # type: ignore[arg-type]
