"""Every code has a page, its example says what the page shows, and its fix mends it; see `pages.py` for their form.

With `UPDATE_SPECIFICATION=1` the reports, the lines below the titles and the tables of the index are written anew.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from blueprint.diagnostics.codes import CODES, FAMILIES
from blueprint.diagnostics.manual import page
from cli.main import main
from streamlets.plans import LogicChecker
from tests.diagnostics.pages import DOCS, FOLDER, INDEX, SECTIONS, Page, fix_rows, read_page, rows, standing

UPDATE = bool(os.environ.get("UPDATE_SPECIFICATION"))
PAGES = [read_page(path) for path in sorted(FOLDER.glob("*.md"), key=lambda path: path.stem)]
RUN = [pytest.param(each, marks=pytest.mark.spark if "--plans" in each.command else (), id=each.code) for each in PAGES]


@pytest.fixture
def workshop(
    each: Page, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Path:  # fmt: skip
    """Return the folder to run a page in, on a terminal of 80 columns; logic is built in the tests' own Spark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if "--plans" in each.command:
        check = LogicChecker(request.getfixturevalue("spark"), tmp_path_factory.mktemp("plans"))
        monkeypatch.setattr("streamlets.plans.check_logic", check)
    return tmp_path


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    """Codes and pages are the same list; the language finds the pages where they are."""
    assert [each.code for each in PAGES] == sorted(CODES)
    for each in PAGES:
        assert page(each.code) == each.text


def test_pages_go_with_the_package() -> None:
    """What is put into a wheel beside the modules are the pages, all of them."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["blueprint.diagnostics"]
    package = DOCS.parent / "blueprint/diagnostics"
    packed = {path.resolve() for pattern in patterns for path in package.glob(pattern)}
    assert packed == {path.resolve() for path in FOLDER.glob("*.md")}


def test_links_lead_somewhere() -> None:
    """Those between the pages and to the rest of the documentation."""
    for path in [INDEX, *FOLDER.glob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert "://" in link or (path.parent / link).exists(), (path.name, link)


@pytest.mark.parametrize("each", PAGES, ids=str)
def test_a_page_says_what_why_and_how_to_mend_it(each: Page) -> None:
    """Title, severity and meaning, an explanation, and the same three sections everywhere."""
    if UPDATE:
        _rewrite(each.code, lambda text: re.sub(r"\A(# .+\n\n)\w+: .+\n", rf"\g<1>{standing(each.code)}\n", text))
        return
    title, line, what, *_ = each.text.split("\n\n")
    assert title == f"# {each.code}"
    assert line == standing(each.code)
    assert not what.startswith(("#", "```"))
    assert each.headings == SECTIONS
    sources = each.text[each.text.index("## Why it matters") : each.text.index("## Example")]
    assert "(http" in sources or "Source:" in sources, "the page does not say where the rule comes from"


@pytest.mark.parametrize("each", RUN)
def test_the_example_is_reported_as_shown(each: Page, workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command of the page on its files prints its report to the letter: one finding, of the page's code."""
    _write(workshop, each.files)
    said = _flow(each.command, capsys)
    if UPDATE:
        now = read_page(FOLDER / f"{each.code}.md")
        _rewrite(each.code, lambda text: text[: now.start] + said + text[now.end :])
    else:
        assert said == each.report
    assert re.findall(r"^\w+\[(.+)\]: ", said, re.MULTILINE) == [each.code], "one mistake, one finding"


@pytest.mark.parametrize("each", RUN)
def test_the_fix_leaves_nothing_to_say(each: Page, workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the files of the fix in place of the example's there is no finding: it is the rule's silent neighbour.

    What a change takes can be allowed instead of undone; then it is still noted.
    """
    assert each.mended or each.mended_command != each.command
    _write(workshop, {**each.files, **each.mended})
    said = json.loads(_flow([*each.mended_command, "--format", "json"], capsys))
    found = {one["severity"] for one in said["diagnostics"]}
    assert found <= ({"note"} if "--allow" in each.mended_command else set()), said["diagnostics"]
    assert any(said["checked"].values())


def test_the_index_is_the_same_list() -> None:
    """`docs/diagnostics.md` has a section for each family, and in it a row for each code."""
    text = INDEX.read_text(encoding="utf-8")
    table = "| code | severity | meaning |\n| --- | --- | --- |\n"
    parts = [f"## {family}\n\n{table}{rows(list(codes))}" for family, codes in FAMILIES.items()]
    start = text.index(f"## {next(iter(FAMILIES))}\n")
    if UPDATE:
        INDEX.write_text(text[:start] + "\n".join(parts), encoding="utf-8")
    else:
        assert text[start:] == "\n".join(parts)


def test_the_table_of_fixes_is_the_same_list() -> None:
    """`docs/diagnostics.md` has a row for each kind of fix, with its class."""
    text = INDEX.read_text(encoding="utf-8")
    head = "| findings | fix | class |\n| --- | --- | --- |\n"
    start = text.index(head) + len(head)
    end = start + len(re.match(r"(\|.*\n)*", text[start:])[0])  # type: ignore[index]
    if UPDATE:
        INDEX.write_text(text[:start] + fix_rows() + text[end:], encoding="utf-8")
    else:
        assert text[start:end] == fix_rows()


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _flow(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(arguments)
    return capsys.readouterr().out


def _rewrite(code: str, change: object) -> None:
    path = FOLDER / f"{code}.md"
    assert callable(change)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
