"""Directories that streamlets write, on a file system with symbolic links, and below another state directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog

JOB = """CREATE STREAM s (a int) FROM json OPTIONS ('path' = '{source}');
SAVE STREAM s TO json IDENTIFIED BY a OPTIONS ('path' = 'real/out', 'checkpointLocation' = '{wal}');
SAVE STREAM s TO json IDENTIFIED BY b OPTIONS ('path' = '{out}');
"""


def codes(directory: Path, job: str, state_root: Path | None = None) -> list[str]:
    """Return the codes of the findings of a job."""
    (directory / "job.sql").write_text(job, encoding="utf-8")
    verification = verify(
        "job.sql", catalog=ProjectCatalog(), environment={}, working_directory=directory, state_root=state_root
    )
    return [diagnostic.code for diagnostic in verification.diagnostics]


@pytest.mark.parametrize(
    ("place", "code"), [("out", "directory-shared"), ("wal", "checkpoint-in-output"), ("source", "output-read")]
)
def test_symbolic_links_are_followed(place: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two paths that are one directory are found, also if the directory itself does not exist yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    places = {"out": "other", "wal": "wal", "source": "in"}
    assert codes(tmp_path, JOB.format(**places)) == []
    assert codes(tmp_path, JOB.format(**places | {place: "link/out"})) == [code]


@pytest.mark.parametrize(
    ("root", "out", "found"),
    [
        ("state", "state/job/topics/t", ["checkpoint-in-output"]),
        ("state", "state", ["checkpoint-in-output"]),
        ("state", "state/other", []),
        ("state", ".flow/out", []),
        ("elsewhere/.flow", "elsewhere/.flow/other", ["checkpoint-in-output"]),
    ],
)
def test_the_chosen_state_directory_is_kept_free(
    root: str, out: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No output is in the application's part of a state directory; `.flow` belongs to the framework as a whole."""
    monkeypatch.chdir(tmp_path)
    assert codes(tmp_path, JOB.format(source="in", wal="wal", out=out), tmp_path / root) == found
