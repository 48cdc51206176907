"""The backfills of an application: nothing but what a backfill has written is ever deleted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streamlets.backfills.model import Backfill, BackfillError, Request
from streamlets.backfills.store import Store
from streamlets.runner.state_directory.directory import StateDirectory
from tests.trees import content

NOT_NAMES = ("", ".", "..", "../x", "/", "a/b", "a\\b", ".hidden", "-x", "_x", "a\n", "a b", "ä", "a\0", "x" * 201)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The backfills of an application that has run."""
    state = StateDirectory(tmp_path / ".flow", "app")
    state.backfills.mkdir(parents=True)
    return Store(state)


def begun(store: Store, name: str) -> Backfill:
    """Store a backfill with a topic and return it."""
    own = Backfill(name=name, request=Request(streamlet="s"), version="", created=1.0, ranges={})
    with store.owned(name):
        (store.work(name).topics / "events").mkdir(parents=True)
        (store.work(name).topics / "events" / "part").touch()
        store.write(own)
    return own


def foreign(directory: Path) -> Path:
    """Create a directory with files of its own."""
    (directory / "thesis").mkdir(parents=True)
    (directory / "thesis" / "chapter.txt").write_text("all of it")
    (directory / "lock").write_text("a lock of another program")
    return directory


@pytest.mark.parametrize("name", NOT_NAMES)
def test_a_name_is_one_part_of_a_path(store: Store, name: str, tmp_path: Path) -> None:
    """Any other name is refused before anything is created or deleted."""
    foreign(store.state.directory / "x")
    before = content(tmp_path)
    for act in (store.home, store.read, store.clear, store.release, store.delete, store.owner):
        with pytest.raises(BackfillError, match="invalid name of a backfill"):
            act(name)
    with pytest.raises(BackfillError, match="invalid name of a backfill"), store.owned(name):
        pass
    assert content(tmp_path) == before


@pytest.mark.parametrize("place", ["directory", "its name", "link", "with a link", "file"])
def test_what_is_not_a_backfill_is_kept(store: Store, place: str, tmp_path: Path) -> None:
    """A directory of others, a link, and a file below `backfills/` are refused, and nothing in them changes."""
    home = store.state.backfills / "one"
    if place == "directory":
        foreign(home)
    elif place == "its name":
        foreign(home / "app")
    elif place == "link":
        home.symlink_to(foreign(tmp_path / "elsewhere"))
        begun(store, "two")
        (tmp_path / "elsewhere" / "backfill.json").write_text((store.home("two") / "backfill.json").read_text())
    elif place == "with a link":
        begun(store, "one")
        home.joinpath("app").rename(tmp_path / "moved")
        (foreign(tmp_path / "elsewhere") / "topics").mkdir()
        home.joinpath("app").symlink_to(tmp_path / "elsewhere")
    else:
        home.write_text("a file")
    before = content(tmp_path)
    for act in (store.clear, store.release, store.delete):
        with pytest.raises(BackfillError, match="is not the directory of a backfill"):
            act("one")
    with pytest.raises(BackfillError, match="is not the directory of a backfill"), store.owned("one"):
        pass
    assert content(tmp_path) == before


def test_a_backfill_of_another_name_is_kept(store: Store) -> None:
    """A directory that was renamed is not cleared under its new name."""
    begun(store, "one")
    store.home("one").rename(store.home("two"))
    before = content(store.state.directory)
    with pytest.raises(BackfillError, match="has the backfill `one`"):
        store.clear("two")
    assert content(store.state.directory) == before


@pytest.mark.parametrize(
    "killed", ["before the lock", "in clear", "before the definition", "in the definition", "done"]
)
def test_a_backfill_that_was_killed_is_cleared(store: Store, killed: str) -> None:
    """Each kill leaves what the next call recognizes as its own."""
    begun(store, "one")
    home = store.home("one")
    if killed == "before the lock":
        shutil.rmtree(home)
        home.mkdir()
    elif killed == "in clear":
        (home / ".deleted").mkdir()
        (home / "backfill.json").rename(home / ".deleted" / "backfill.json")
    elif killed == "before the definition":
        (home / "backfill.json").unlink()
    elif killed == "in the definition":
        (home / "backfill.json").rename(home / ".backfill.json.4711")
    with store.owned("one"):
        store.clear("one")
    assert content(home) == {"lock": content(home)["lock"]}


def test_files_of_others_in_a_backfill_are_kept(store: Store) -> None:
    """Notes beside the state of a backfill, or results that were written there, stay when it is cleared or deleted."""
    begun(store, "one")
    (store.home("one") / "notes.txt").write_text("why")
    with store.owned("one"):
        store.clear("one")
    assert set(content(store.home("one"))) == {"lock", "notes.txt"}


def test_deletion(store: Store) -> None:
    """Nothing is left of a backfill, and a process that has waited for it does not go on in a deleted directory."""
    begun(store, "one")
    (store.state.backfills / "one.log").write_text("its output")
    other = begun(store, "two")
    with store.owned("one"):
        store.delete("one")
    assert store.names() == ("two",)
    assert store.read("two") == other
    assert [path.name for path in store.state.backfills.iterdir()] == ["two"]
    with store.owned("one"):
        assert (store.home("one") / "lock").exists()


def test_a_directory_with_another_name_is_not_listed(store: Store) -> None:
    """What no command could address is not a backfill."""
    begun(store, "one")
    store.home("one").rename(store.state.backfills / "_one")
    assert store.names() == ()
