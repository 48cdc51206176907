"""The modules of an application and of Streamlets in a zip, from which executors import them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from blueprint.core_settings import ClusterSettings
from streamlets.cluster import modules
from streamlets.cluster.modules import ARCHIVE, forget_archive, with_modules
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan


def _project(directory: Path) -> Path:
    for name in (
        "shop/__init__.py", "shop/store.py", "src/late.py", ".flow/x.py", "venv/x.py", "own/pyvenv.cfg", "own/lib/x.py",
        "data.csv", "late.py", "shop/__pycache__/store.py",
    ):  # fmt: skip
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {name}\n")
    return directory


def _plan(directory: Path, **settings: str) -> SessionPlan:
    path = (str(directory), str(directory / "src"))
    cluster = ClusterSettings(modules="files")
    return SessionPlan("app", directory, directory / "tmp", "spark://h:7077", path, settings, cluster=cluster)


def test_the_modules_can_be_imported_from_the_zip(tmp_path: Path) -> None:
    """Those of both directories and of Streamlets, without environments, hidden files and data."""
    plan = with_modules(_plan(_project(tmp_path)))
    archive = tmp_path / "tmp" / ARCHIVE
    assert plan.settings["spark.submit.pyFiles"] == str(archive)
    with zipfile.ZipFile(archive) as read:
        names = {name for name in read.namelist() if not name.startswith(("streamlets/", "blueprint/"))}
        assert read.read("late.py") == b"# late.py\n"  # the first directory of the path counts
    assert names == {"shop/__init__.py", "shop/store.py", "late.py", "src/late.py"}
    code = f"import sys; sys.path[:0] = [{str(archive)!r}]; import streamlets, shop.store; print(streamlets.__file__)"
    shown = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert ARCHIVE in shown.stdout


def test_files_of_the_user_stay(tmp_path: Path) -> None:
    """The file of modules is added to them."""
    plan = with_modules(_plan(_project(tmp_path), **{"spark.submit.pyFiles": "/own.zip"}))
    assert plan.settings["spark.submit.pyFiles"] == f"/own.zip,{tmp_path / 'tmp' / ARCHIVE}"


@pytest.mark.parametrize("master", ["local[2]", "k8s://https://h", "spark://h:7077"])
def test_elsewhere_no_file_is_written(master: str, tmp_path: Path) -> None:
    """On this machine, in an image and in a shared directory, the modules are there."""
    plan = SessionPlan("app", tmp_path, tmp_path / "tmp", master)
    assert with_modules(plan) is plan
    assert not (tmp_path / "tmp").exists()


def test_too_many_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application in a home directory would send all that is there to each executor."""
    monkeypatch.setattr(modules, "_MOST_FILES", 2)
    with pytest.raises(SessionError, match="more than 2 modules"):
        with_modules(_plan(_project(tmp_path)))


@pytest.mark.parametrize("error", [FileNotFoundError(2, "gone"), PermissionError(13, "Permission denied")])
def test_a_module_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    """One that was deleted since it was found is omitted; any other is named."""
    write = zipfile.ZipFile.write

    def failing(archive: zipfile.ZipFile, file: Path, name: str) -> None:
        if name == "late.py":
            raise error
        write(archive, file, name)

    monkeypatch.setattr(zipfile.ZipFile, "write", failing)
    if isinstance(error, PermissionError):
        with pytest.raises(SessionError, match=r"the module .*/late\.py cannot be read: Permission denied"):
            with_modules(_plan(_project(tmp_path)))
    else:
        with_modules(_plan(_project(tmp_path)))
        with zipfile.ZipFile(tmp_path / "tmp" / ARCHIVE) as read:
            assert {"late.py", "shop/store.py"} & set(read.namelist()) == {"shop/store.py"}


def test_the_runner_does_not_import_from_the_zip(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark puts the zip into its path, where it would hide changed modules."""
    monkeypatch.setattr(sys, "path", ["/a", f"/tmp/x/{ARCHIVE}", "/b"])
    forget_archive()
    assert sys.path == ["/a", "/b"]
