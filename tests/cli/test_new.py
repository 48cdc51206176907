"""`flow new`: the projects of all templates verify, run and pass their tests; names and directories are checked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cli.commands.new import template_names
from tests.cli.conftest import Flow

BIN = Path(sys.executable).parent


def run_in(directory: Path, *command: str) -> str:
    """Run a command of this environment in a directory; it must succeed. Return its output."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.full  # `tests/manual/test_tutorial.py` does it with the template `minimal`
@pytest.mark.parametrize("template", template_names())
def test_a_new_project_runs_and_passes_its_tests(
    template: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands that the project's page names work at once."""
    if template == "kafka":
        monkeypatch.setenv("KAFKA_SERVERS", request.getfixturevalue("kafka_broker"))
    run_in(tmp_path, "flow", "new", "tea-shop", "--template", template)
    project = tmp_path / "tea-shop"
    assert "no findings" in run_in(project, "flow", "verify")
    assert "ended: all done (exit code 0)" in run_in(project, "flow", "run", "--available-now")
    assert " passed" in run_in(project, "pytest", "-p", "no:cacheprovider")
    ignored = (project / ".gitignore").read_text(encoding="utf-8").split()
    made = {path.name for path in project.iterdir() if f"{path.name}/" in ignored}
    assert ".flow" in made


@pytest.mark.parametrize("template", template_names())
def test_a_new_project_has_its_name_and_no_findings(
    template: str, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No placeholder remains in files or their names, hidden files included, and `flow verify` has no findings."""
    monkeypatch.chdir(tmp_path)
    result = flow("new", f"apps/tea-{template}", "--template", template)
    assert result.code == 0
    assert f"cd apps/tea-{template}" in result.out
    project = tmp_path / "apps" / f"tea-{template}"
    files = {path.relative_to(project).as_posix(): path for path in project.rglob("*") if path.is_file()}
    assert {".gitignore", ".github/workflows/check.yml", "blueprint.conf", "pyproject.toml", "README.md"} <= set(files)
    for name, file in files.items():
        text = name + file.read_text(encoding="utf-8")
        assert not any(word in text for word in ("my-app", "my_app", "dot-"))
    assert f'name = "tea-{template}"' in files["pyproject.toml"].read_text(encoding="utf-8")
    verified = flow("verify", str(project))
    assert (verified.code, "no findings" in verified.out) == (0, True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Shop", "expected up to 63 lower-case letters and digits"),
        ("1shop", "starting with a letter"),
        ("tea--shop", "with single `-` or `_` between them"),
        ("s" * 64, "expected up to 63"),
        ("class", "it is a keyword of Python"),
        ("json", "there is already a Python module `json`"),
        ("streamlets", "there is already a Python module `streamlets`"),
        ("pytest", "there is already a Python module `pytest`"),
        ("data", "the project has a directory with this name"),
    ],
)
def test_invalid_names_are_refused(
    name: str, message: str, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what is wrong, and nothing is created."""
    monkeypatch.chdir(tmp_path)
    result = flow("new", name)
    assert result.code == 2
    assert f"invalid project name `{name}`" in result.err
    assert message in " ".join(result.err.split())
    assert not list(tmp_path.iterdir())


def test_existing_content_is_never_touched(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with content, even hidden, and a file are refused; an empty directory is used."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    hidden = tmp_path / "shop" / ".keep"
    hidden.touch()
    result = flow("new", "shop")
    assert (result.code, "the directory `shop` is not empty" in result.err) == (2, True)
    assert list((tmp_path / "shop").iterdir()) == [hidden]
    (tmp_path / "file").touch()
    result = flow("new", "file")
    assert (result.code, "`file` exists and is not a directory" in result.err) == (2, True)
    hidden.unlink()
    assert flow("new", "shop").code == 0
    assert flow("new", "shop").code == 2


def test_a_directory_that_cannot_be_written_is_reported(flow: Flow, tmp_path: Path) -> None:
    """The message has the file; it is not an internal error."""
    (tmp_path / "file").touch()
    result = flow("new", str(tmp_path / "file" / "shop"))
    assert result.code == 1
    assert "cannot be written: Not a directory" in result.err


def test_a_project_of_sources(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and a table become a project that fits its data, with paths that begin at the project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "table.csv").write_text("id;price\n1;2.50\n2;\n")
    (tmp_path / "in" / "results.json").write_text('{"id": 1, "tags": ["a"]}\n')
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO orders VALUES (1, 'a')")
    made = flow(
        "new", "apps/tea", "--from", "in/table.csv", "--from", "in/results.json", "--from", "sqlite:shop.db", "--table",
        "orders",
    )  # fmt: skip
    assert made.code == 0
    assert "not sure: table, price" in made.err
    project = tmp_path / "apps" / "tea"
    files = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    assert files == {
        ".gitignore", "blueprint.conf", "results.conf", "schemas/orders.avsc", "schemas/results-2.avsc",
        "schemas/table.avsc",
    }  # fmt: skip
    verified = flow("verify", str(project), "--sample")
    assert (verified.code, "no findings" in verified.out, "3 samples" in verified.out) == (0, True, True)
    monkeypatch.chdir("in")
    assert flow("new", "--from", "table.csv").code == 0
    assert (tmp_path / "in" / "table" / "blueprint.conf").is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "missing the NAME"),
        (("shop", "--table", "t"), 2, "need --from"),
        (("shop", "--from", "a.csv", "--template", "sql"), 2, "cannot be combined"),
        (("shop", "--from", "none.csv"), 1, "there is no file `none.csv`"),
        (("shop", "--from", "a.csv", "--option", "column=id"), 1, "no source has the option `column`"),
        (("shop", "--from", "sqlite:shop.db", "--table", "t"), 1, "add `--option column=...`"),
        (("shop", "--from", "postgresql://ann:s3cret@127.0.0.1:1/x", "--table", "t"), 1, "password.env"),
        (("Shop", "--from", "a.csv"), 2, "invalid project name `Shop`"),
    ],
)
def test_sources_that_make_no_project(
    arguments: tuple[str, ...], code: int, message: str, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one error, and nothing is created."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id\n1\n")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE t (name TEXT)")
    result = flow("new", *arguments)
    assert (result.code, message in " ".join(result.err.split())) == (code, True)
    assert "s3cret" not in result.err
    assert not list(tmp_path.glob("*hop/*"))
