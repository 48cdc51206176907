"""Every code has a page whose example has the report that the page shows, and whose fix works; see `pages.py`.

With `UPDATE_SPECIFICATION=1`, the reports, the lines below the titles and the tables of the index are updated.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from blueprint.diagnostics.codes import CODES, FAMILIES
from blueprint.diagnostics.manual import page as manual_page
from cli.main import main
from streamlets.plans import LogicChecker
from tests.diagnostics.pages import DOCS, FOLDER, INDEX, SECTIONS, Page, fix_rows, read_page, rows, summary_line

UPDATE = bool(os.environ.get("UPDATE_SPECIFICATION"))
PAGES = [read_page(path) for path in sorted(FOLDER.glob("*.md"), key=lambda path: path.stem)]
RUN = [pytest.param(page, marks=pytest.mark.spark if "--plans" in page.command else (), id=page.code) for page in PAGES]


@pytest.fixture
def workshop(
    page: Page, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Path:  # fmt: skip
    """Return the directory to run a page in, on a terminal of 80 columns; logic is built in the Spark of all tests."""
    directory = tmp_path / "now" / "weather"
    directory.mkdir(parents=True)
    monkeypatch.chdir(directory)
    monkeypatch.setenv("COLUMNS", "80")
    if "--plans" in page.command:
        check = LogicChecker(request.getfixturevalue("spark"), tmp_path_factory.mktemp("plans"))
        monkeypatch.setattr("streamlets.plans.check_logic", check)
    return directory


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    """Codes and pages are the same list, and `flow explain` finds the pages."""
    assert [page.code for page in PAGES] == sorted(CODES)
    for page in PAGES:
        assert manual_page(page.code) == page.text


def test_pages_go_with_the_package() -> None:
    """A wheel contains all pages."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["blueprint.diagnostics"]
    package = DOCS.parent / "blueprint/diagnostics"
    packed = {path.resolve() for pattern in patterns for path in package.glob(pattern)}
    assert packed == {path.resolve() for path in FOLDER.glob("*.md")}


def test_links_have_a_target() -> None:
    """Links between the pages, and to the rest of the documentation, name existing files."""
    for path in [INDEX, *FOLDER.glob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert "://" in link or (path.parent / link).exists(), (path.name, link)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_explains_what_why_and_how_to_fix_it(page: Page) -> None:
    """A page has title, severity and meaning, an explanation, and the same three sections as all pages."""
    if UPDATE:
        _rewrite(page.code, lambda text: re.sub(r"\A(# .+\n\n)\w+: .+\n", rf"\g<1>{summary_line(page.code)}\n", text))
        return
    title, line, explanation, *_ = page.text.split("\n\n")
    assert title == f"# {page.code}"
    assert line == summary_line(page.code)
    assert not explanation.startswith(("#", "```"))
    assert page.headings == SECTIONS
    sources = page.text[page.text.index("## Why it matters") : page.text.index("## Example")]
    assert "(http" in sources or "Source:" in sources, "the page does not say where the rule comes from"


@pytest.mark.parametrize("page", RUN)
def test_the_example_is_reported_as_shown(
    page: Page, workshop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the page with its files prints exactly its report: one finding, with the page's code."""
    _describe(workshop, page.before, monkeypatch)
    _write(workshop, page.files)
    output = _flow(page.command, capsys)
    if UPDATE:
        now = read_page(FOLDER / f"{page.code}.md")
        _rewrite(page.code, lambda text: text[: now.start] + output + text[now.end :])
    else:
        assert output == page.report
    assert re.findall(r"^\w+\[(.+)\]: ", output, re.MULTILINE) == [page.code], "one mistake, one finding"


@pytest.mark.parametrize("page", RUN)
def test_the_fix_leaves_no_finding(
    page: Page, workshop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the files of the fix there is no finding: the rule is silent about a similar, valid application.

    A change may be allowed instead of undone; then it is a note.
    """
    assert page.fixed or page.fixed_command != page.command
    _describe(workshop, page.before, monkeypatch)
    if page.accepted:
        _describe(workshop, page.files, monkeypatch)
    _write(workshop, {**page.files, **({} if page.accepted else page.fixed)})
    report = json.loads(_flow([*page.fixed_command, "--format", "json"], capsys))
    severities = {finding["severity"] for finding in report["diagnostics"]}
    assert severities <= ({"note"} if "--allow" in page.fixed_command else set()), report["diagnostics"]
    assert any(report["checked"].values())


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


def _write(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")


def _describe(workshop: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Describe the application of some files in `old.json` of the workshop; without files, do nothing.

    It is elsewhere, in a directory of the same name, because Python imports a module of a directory once.
    """
    if not files:
        return
    elsewhere = workshop.parent.parent / f"described {len(list(workshop.parent.parent.iterdir()))}" / workshop.name
    _write(elsewhere, files)
    with monkeypatch.context() as there, pytest.raises(SystemExit) as end:
        there.chdir(elsewhere)
        main(["describe", "-o", str(workshop / "old.json")])
    assert end.value.code == 0


def _flow(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(arguments)
    return capsys.readouterr().out


def _rewrite(code: str, change: object) -> None:
    path = FOLDER / f"{code}.md"
    assert callable(change)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
