"""A project at another place: its state goes on there, and says so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.runner.state_directory.directory import PLACES, StateDirectory
from streamlets.runner.state_directory.places import Places, places_of, read_place, take_place
from streamlets.storage.damage import DamagedFileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def state_in(project: Path) -> StateDirectory:
    """Return the state directory of a project, which exists and has been used."""
    state = StateDirectory(project / ".flow", "app")
    with state.locked():
        pass
    return state


def test_paths_below_the_project_are_relative_to_it() -> None:
    """Also those below an earlier place; all others stay as they are."""
    places = Places("/new/shop", ("/old/shop",))
    for text, portable in {
        "/new/shop/data/a.csv@1.2": "data/a.csv@1.2",
        "/old/shop/data/a.csv@1.2": "data/a.csv@1.2",
        "/old/shops/data/a.csv@1.2": "/old/shops/data/a.csv@1.2",
        "data/a.csv@1.2": "data/a.csv@1.2",
        "page 7": "page 7",
        "/new/shop": "/new/shop",
        "": "",
    }.items():
        assert places.portable(text) == portable
        assert Places().portable(text) == text


def test_paths_in_tasks_are_those_of_the_present_place(tmp_path: Path) -> None:
    """A file that is only at the earlier place is still read there."""
    old, new = tmp_path / "old", tmp_path / "new"
    for file in (old / "only-old", old / "both", new / "both", new / "only-new"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    places = Places(str(new), (str(old),))
    task = {
        "path": f"{old}/both",
        "size": 1,
        "more": [f"{old}/only-old", f"{old}/gone", f"{old}/only-new", "x", None, f"{new}/gone"],
    }
    assert places.present(task) == {
        "path": f"{new}/both",
        "size": 1,
        "more": [f"{old}/only-old", f"{new}/gone", f"{new}/only-new", "x", None, f"{new}/gone"],
    }
    assert Places(str(new)).present(task) == task


def test_a_state_that_stays_reports_nothing(tmp_path: Path) -> None:
    """Its place is recorded once, with an id that stays."""
    state = state_in(tmp_path)
    assert take_place(state, tmp_path) == ""
    before = read_place(state)
    assert before is not None and before.id and before.places == Places(str(tmp_path))
    assert take_place(state, tmp_path) == ""
    assert read_place(state) == before


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "earlier-version"])
@pytest.mark.parametrize("way", ["moved", "copied", "linked"])
def test_a_project_at_another_place(recorded: bool, way: str, tmp_path: Path) -> None:
    """It is reported with both places, also for a state that an earlier version has left; a copy is named as one. A
    link to the same directory changes nothing."""
    old, new = tmp_path / "old" / "shop", tmp_path / "new" / "shop"
    new.parent.mkdir()
    state = state_in(old)
    state.keep_launch((str(old / "blueprint.conf"),))
    if recorded:
        take_place(state, old)
    if way == "moved":
        old.rename(new)
    elif way == "copied":
        shutil.copytree(old, new)
    else:
        new.symlink_to(old)
    there = StateDirectory(new / ".flow", "app")
    notice = take_place(there, new)
    assert places_of(there.directory) == Places(str(new), (str(old),))
    if way == "linked":
        assert notice == ""
        return
    assert str(old) in notice and str(new) in notice
    assert ("this is a copy" in notice) == (way == "copied" and recorded)
    assert take_place(there, new) == ""
    if way == "copied":
        take_place(state, old)
        assert places_of(state.directory).former == ()


def test_a_project_that_moves_back(tmp_path: Path) -> None:
    """The present place is never one of the earlier ones."""
    state = state_in(tmp_path / "a")
    for place in ("a", "b", "a", "c"):
        take_place(state, tmp_path / place)
    assert places_of(state.directory) == Places(f"{tmp_path}/c", (f"{tmp_path}/a", f"{tmp_path}/b"))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": 1}', "null"])
def test_a_damaged_record_is_an_error(content: str, tmp_path: Path) -> None:
    """Without the earlier places, tasks that were read there would be read again. The record stays as it is."""
    state = state_in(tmp_path)
    state.keep_launch((str(tmp_path / "old" / "blueprint.conf"),))
    (state.directory / PLACES).write_text(content)
    with pytest.raises(DamagedFileError, match=rf"{PLACES}\); restore the file from a backup; otherwise delete it"):
        take_place(state, tmp_path)
    assert (state.directory / PLACES).read_text() == content


def test_without_a_record_the_last_run_names_the_place(tmp_path: Path) -> None:
    """So a state of an earlier version goes on after a move, too."""
    state = state_in(tmp_path)
    state.keep_launch((str(tmp_path / "old" / "blueprint.conf"),))
    assert f"{tmp_path}/old" in take_place(state, tmp_path)
    assert places_of(state.directory).former == (f"{tmp_path}/old",)


def test_a_cleared_state_is_another_one(tmp_path: Path) -> None:
    """It has a new id, so that it is not a copy of what it was."""
    state = state_in(tmp_path)
    take_place(state, tmp_path)
    before = read_place(state)
    with state.locked():
        state.clear()
    take_place(state, tmp_path)
    after = read_place(state)
    assert before is not None and after is not None and before.id != after.id


def lists_of(state: StateDirectory) -> Iterator[dict[str, object]]:
    """Yield the entries of the lists of files that file sources have read."""
    for file in state.checkpoints.glob("*/*/sources/*/*"):
        if not file.name.startswith("."):
            yield from (json.loads(line) for line in file.read_text().splitlines() if line.startswith("{"))


def test_lists_of_files_name_the_present_place(tmp_path: Path) -> None:
    """Names with blanks and other letters are quoted as Hadoop does; files elsewhere and other sources stay."""
    old, new = tmp_path / "old shop", tmp_path / "new shop"
    state = state_in(old)
    take_place(state, old)
    folder = state.checkpoints / "a" / "q" / "sources" / "files"
    folder.mkdir(parents=True)
    base = f"file://{tmp_path}/old%20shop"
    entries = [
        {"path": f"{base}/in/a%20b.json", "timestamp": 1, "batchId": 0},
        {"path": f"{base}/in/%C3%A9=1,2.json", "timestamp": 1, "batchId": 0},
        {"path": "file:///elsewhere/c.json", "timestamp": 1, "batchId": 0},
        {"path": "s3a://bucket/d.json", "timestamp": 1, "batchId": 0},
    ]
    (folder / "0").write_text("\n".join(["v1", *map(json.dumps, entries)]))
    (folder / ".0.crc").touch()
    (folder / "1").write_text('v1\n{"topic": {"0": 1}}')
    old.rename(new)
    take_place(StateDirectory(new / ".flow", "app"), new)
    moved = f"file://{tmp_path}/new%20shop"
    assert [entry.get("path") for entry in lists_of(StateDirectory(new / ".flow", "app"))] == [
        f"{moved}/in/a%20b.json",
        f"{moved}/in/%C3%A9=1,2.json",
        "file:///elsewhere/c.json",
        "s3a://bucket/d.json",
        None,
    ]
    assert not (new / ".flow" / "app" / "checkpoints" / "a" / "q" / "sources" / "files" / ".0.crc").exists()


@pytest.mark.spark
@pytest.mark.parametrize("planned", [False, True], ids=["committed", "planned"])
def test_a_file_source_goes_on_at_another_place(planned: bool, spark: SparkSession, tmp_path: Path) -> None:
    """It reads no file again, also if the project was moved between the plan of a batch and its commit."""
    old, new = tmp_path / "old shop", tmp_path / "new"
    state = state_in(old)
    take_place(state, old)
    (old / "in").mkdir()
    (old / "in" / "a.json").write_text('{"n": 1}\n')
    checkpoint = Path(".flow") / "app" / "checkpoints" / "a" / "q"
    seen: list[int] = []

    def run(project: Path) -> None:
        query = (
            spark.readStream.format("json")
            .schema("n long")
            .name("files")
            .load(str(project / "in"))
            .writeStream.option("checkpointLocation", str(project / checkpoint))
            .trigger(availableNow=True)
            .foreachBatch(lambda rows, batch: seen.extend(row.n for row in rows.collect()))
            .start()
        )
        query.awaitTermination()

    run(old)
    if planned:
        for name in ("0", ".0.crc"):
            (old / checkpoint / "commits" / name).unlink()
    old.rename(new)
    (new / "in" / "b.json").write_text('{"n": 2}\n')
    take_place(StateDirectory(new / ".flow", "app"), new)
    run(new)
    assert seen == ([1, 1, 2] if planned else [1, 2])
