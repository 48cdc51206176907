"""The finding for a blueprint that does not exist suggests similar files, or shows an example."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.model.blueprint_files import SKELETON
from blueprint.verification.verify import verify
from tests.blueprint.paper import PaperCatalog


def helps(path: str, directory: Path) -> tuple[str, ...]:
    """Return the help of the single finding."""
    (diagnostic,) = verify(path, catalog=PaperCatalog(), environment={}, working_directory=directory).diagnostics
    assert diagnostic.code == "file-not-found"
    return diagnostic.help


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
def test_a_similar_blueprint_is_suggested(
    files: dict[str, str], asked: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Similar names, files that may be blueprints, directories with a blueprint; and the names of blueprints."""
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    suggestion, names = helps(asked, tmp_path)
    assert suggestion == meant
    assert names.startswith("a directory's blueprint is named `blueprint.conf`, ")


def test_without_a_similar_file_an_example_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example is a blueprint that can be read."""
    monkeypatch.chdir(tmp_path)
    assert helps("nowhere.conf", tmp_path) == (f"a blueprint looks like this:\n{SKELETON}",)
    (tmp_path / "nowhere.conf").write_text(SKELETON)
    verification = verify("nowhere.conf", catalog=PaperCatalog(), environment={}, working_directory=tmp_path)
    assert {diagnostic.code for diagnostic in verification.diagnostics} == {"class-not-found"}
