"""No blueprint where one was looked for: what is near, and how one looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.model.nearby import SKELETON
from blueprint.verification.verify import verify
from tests.blueprint.paper import PaperCatalog


def helps(path: str, folder: Path) -> tuple[str, ...]:
    """The help of the one finding."""
    (found,) = verify(path, catalog=PaperCatalog(), environment={}, working_directory=folder).diagnostics
    assert found.code == "file-not-found"
    return found.help


@pytest.mark.parametrize(
    ("files", "asked", "meant"),
    [
        ({"app.conf": "blueprint {}", "other.conf": "flow {}"}, "blueprint.conf", "did you mean `app.conf`?"),
        ({"blueprint.yaml": "blueprint: {}"}, "blueprint.conf", "did you mean `blueprint.yaml`?"),
        ({"blueprnt.conf": ""}, "blueprint.conf", "did you mean `blueprnt.conf`?"),
        ({"shop/blueprint.json": "{}"}, "blueprint.conf", "did you mean `shop`?"),
        ({"shop/app.conf": "blueprint {}"}, "shop/blueprint.conf", "did you mean `shop/app.conf`?"),
    ],
)
def test_a_blueprint_near_by_is_proposed(
    files: dict[str, str], asked: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that are near, files that may be blueprints, folders that have one; and where it is looked for."""
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = helps(asked, tmp_path)
    assert found[0] == meant
    assert found[1].startswith("the blueprint of a folder is its `blueprint.conf`, ")
    assert len(found) == 2


def test_where_nothing_is_near_a_blueprint_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who begins gets something to begin with, which can be read."""
    monkeypatch.chdir(tmp_path)
    assert helps("nowhere.conf", tmp_path) == (f"a blueprint looks like this:\n{SKELETON}",)
    (tmp_path / "nowhere.conf").write_text(SKELETON)
    found = verify("nowhere.conf", catalog=PaperCatalog(), environment={}, working_directory=tmp_path).diagnostics
    assert {each.code for each in found} == {"class-not-found"}
