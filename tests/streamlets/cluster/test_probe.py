"""What executors tell is compared with the runner; each way to differ has a severity and a remedy."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamlets.checks import State
from streamlets.cluster import task
from streamlets.cluster.probe import compare, failed_task
from streamlets.cluster.task import Question, digest_of, examine, version_of, visit

_PACKAGES = {"pyspark": "4.3.0", "pyarrow": "22.0.0", "pandas": "2.3.3", "py4j": "0.10.9"}
_OWN = {"python": "3.11.7", "packages": _PACKAGES, "modules": {"shop": "a", "streamlets.api": "b"}}
_QUESTION = Question(("shop", "streamlets.api"), ("/state",), "token", ("/jars/a.jar",))


def _answer(id: str = "0", **changes: Any) -> dict[str, Any]:
    alike = {
        "host": "big", "process": int(id), "id": id, "number": int(id), "executable": "/venv/bin/python",
        "paths": {"/state": ""}, "missing": [], "clock": 0.0, "error": 0.3,
    }  # fmt: skip
    return {**_OWN, **alike, **changes}


def _with_package(name: str, version: str | None) -> dict[str, Any]:
    return {"packages": _PACKAGES | {name: version}}


_DIFFERENCES: dict[str, tuple[dict[str, Any], State, str]] = {
    "another Python": ({"python": "3.12.1"}, State.ERROR, "executor 1 on big: Python 3.12.1"),
    "another patch of Python": ({"python": "3.11.2"}, State.WARNING, "Python 3.11.2, the runner 3.11.7"),
    "another PySpark": (_with_package("pyspark", "4.2.0"), State.ERROR, "pyspark 4.2.0, the runner has 4.3.0"),
    "no pyarrow": (_with_package("pyarrow", None), State.ERROR, "pyarrow is not installed"),
    "another pyarrow": (_with_package("pyarrow", "18.0.0"), State.WARNING, "pyarrow 18.0.0"),
    "another pandas": (_with_package("pandas", "2.2.0"), State.WARNING, "pandas 2.2.0"),
    "no module": ({"modules": {"shop": None, "streamlets.api": "b"}}, State.ERROR, "there is no module `shop`"),
    "an older module": ({"modules": {"shop": "z", "streamlets.api": "b"}}, State.ERROR, "`shop` has another content"),
    "no Streamlets": ({"modules": {"shop": "a", "streamlets.api": None}}, State.ERROR, "no module `streamlets.api`"),
    "another directory": ({"paths": {"/state": "it is another directory"}}, State.ERROR, "/state is not the runner's"),
    "no jar": ({"missing": ["/jars/a.jar"]}, State.ERROR, "/jars/a.jar does not exist"),
    "another clock": ({"clock": 90.4}, State.WARNING, "the clock differs from the runner's by 1 min 30 s"),
}


@pytest.mark.parametrize("case", _DIFFERENCES)
def test_each_difference_is_a_check_with_a_remedy(case: str) -> None:
    """One executor of two differs: the check names it, and nothing else is reported about the other."""
    changes, state, detail = _DIFFERENCES[case]
    checks = [*compare([_answer(), _answer("1", **changes)], _OWN, _QUESTION, 2)]
    (difference,) = [check for check in checks if check.state is not State.OK]
    assert difference.state is state
    assert detail in difference.detail and "1 on big" in difference.detail
    assert difference.help


@pytest.mark.parametrize(
    "changes", [{}, _with_package("pandas", None), {"clock": 1.0}], ids=["alike", "no pandas", "1 s"]
)
def test_executors_that_have_all_are_fine(changes: dict[str, Any]) -> None:
    """Every subject is listed; optional packages and small differences of clocks do not matter."""
    checks = [*compare([_answer(**changes), _answer("1", **changes)], _OWN, _QUESTION, 2)]
    assert {check.state for check in checks} == {State.OK}
    assert [check.subject.partition(" ")[0] for check in checks] == [
        "executors", "Python", "modules", "directories", "jars", "clocks",
    ]  # fmt: skip


def test_equal_differences_are_one_check() -> None:
    """It names all executors that have it."""
    answers = [_answer(str(n), **_with_package("pyarrow", None)) for n in range(3)]
    (difference,) = [check for check in compare(answers, _OWN, _QUESTION, 3) if check.state is State.ERROR]
    assert difference.detail.startswith("executors 0 on big, 1 on big, 2 on big: ")


def test_an_executor_that_was_not_reached_is_a_warning() -> None:
    """The others are compared."""
    checks = [*compare([_answer()], _OWN, _QUESTION, 3)]
    assert [check.detail for check in checks if check.state is State.WARNING] == ["1 of 3 executors answered"]


def test_what_executors_write_must_be_seen() -> None:
    """An executor finds the token, but the runner does not find the executor's file."""
    checks = compare([_answer()], _OWN, _QUESTION, 1, unseen=["/state", "/state"])
    assert [check.detail for check in checks if check.state is State.ERROR] == [
        "the runner does not see what executors write to /state"
    ]


_MISMATCH = (
    "... (TID 3) (10.0.0.7 executor 2): ...\n[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 "
    "than that in driver: 3.11, PySpark cannot run with different minor versions."
)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (_MISMATCH, "executor 2 on 10.0.0.7: Python 3.12, the runner 3.11"),
        ('java.io.IOException: Cannot run program "/opt/py": error=2', "an executor: there is no /opt/py"),
        ("ModuleNotFoundError: No module named 'pyspark'", "an executor: pyspark is not installed"),
        ("Job 1 cancelled part of cancelled job group", "a task did not end within 7 s"),
        ("\nsomething else\nand more", "an executor: a task failed: something else"),
    ],
)  # fmt: skip
def test_a_task_that_cannot_answer(text: str, detail: str) -> None:
    """Spark's message is read for the reason, and which executor it was."""
    check = failed_task(text, 7.0)
    assert (check.state, check.detail) == (State.ERROR, detail)
    assert check.help


def test_a_task_tells_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules and packages, files, and a directory with the runner's token, into which it writes."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "store.py").write_text("raise ValueError\n")  # modules are not imported
    (tmp_path / "token").write_text("token")
    monkeypatch.syspath_prepend(tmp_path)
    question = Question(("shop", "shop.store", "lost"), (str(tmp_path),), "token", (str(tmp_path / "lost.jar"),))
    answer = examine(question.plain(), 3)
    assert answer["paths"] == {str(tmp_path): ""} and (tmp_path / "token.3").read_text() == "token"
    assert answer["missing"] == [str(tmp_path / "lost.jar")]
    assert answer["modules"]["shop"] and answer["modules"]["shop.store"] and answer["modules"]["lost"] is None
    assert answer["packages"]["pyarrow"] and version_of("no_such_package") is None


def test_the_source_of_a_module_is_the_same_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the files of a job can be compared with the runner's modules."""
    package = tmp_path / "here" / "shop"
    package.mkdir(parents=True)
    for name in ("__init__.py", "store.py"):
        (package / name).write_text(f"# {name}\n")
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as archive:
        for file in package.iterdir():
            archive.write(file, f"shop/{file.name}")
    for name in ("shop", "shop.store"):
        digests = {digest_of(name, [str(place)]) for place in (tmp_path / "here", tmp_path / "shop.zip")}
        assert len(digests) == 1 and None not in digests
    assert digest_of("shop.lost", [str(tmp_path / "shop.zip")]) is None
    monkeypatch.chdir(tmp_path)  # executors have files of Spark in their directory, with this path
    assert digest_of("shop.store", ["./shop.zip"]) == digest_of("shop.store", [str(tmp_path / "here")])


def _no_directory(path: Path) -> None:
    path.rmdir()


def _no_token(path: Path) -> None:
    return None


def _another_token(path: Path) -> None:
    (path / "token").write_text("another")


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [(_no_directory, "it does not exist"), (_no_token, "it is another directory"),
     (_another_token, "it is another directory")],
)  # fmt: skip
def test_a_directory_that_is_not_the_runners(prepare: Callable[[Path], None], reason: str, tmp_path: Path) -> None:
    """Nothing is written there, as the runner could not delete it."""
    directory = tmp_path / "state"
    directory.mkdir()
    prepare(directory)
    before = sorted(tmp_path.rglob("*"))
    assert visit(str(directory), "token", 0) == reason
    assert sorted(tmp_path.rglob("*")) == before


def test_an_executor_is_known_by_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A standalone worker starts it in a directory with its number; Kubernetes tells it in a variable."""
    (tmp_path / "7").mkdir()
    monkeypatch.chdir(tmp_path / "7")
    monkeypatch.delenv("SPARK_EXECUTOR_ID", raising=False)
    assert task.identity()["id"] == "7"
    monkeypatch.setenv("SPARK_EXECUTOR_ID", "12")
    assert task.identity()["id"] == "12"
    assert task.identity()["process"] == os.getppid()
