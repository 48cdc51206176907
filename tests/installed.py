"""Packages of the repository that a test uses as if they were installed."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

CHANNELS = Path(__file__).resolve().parent.parent / "examples" / "channels"
"""The example channels, each a project in a directory with its name."""


def install(project: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a project on the path of this process and of the processes that it starts, with its entry points.

    Arguments:
        project: the directory of the project, with its `pyproject.toml` and its modules.
        directory: where its metadata is written, as an installation does.
        monkeypatch: takes it back after the test.
    """
    described = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = described["name"], described["version"]
    metadata = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    if not metadata.exists():
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        groups = described["entry-points"].items()
        lines = [line for group, own in groups for line in (f"[{group}]", *(f"{key} = {own[key]}" for key in own))]
        (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for path in (project, directory):
        monkeypatch.syspath_prepend(str(path))
    paths = filter(None, (str(project), str(directory), os.environ.get("PYTHONPATH")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def installed_channel(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install an example channel for a test; see `install`."""
    install(CHANNELS / name, directory / "installed", monkeypatch)


__all__ = ["CHANNELS", "install", "installed_channel"]
