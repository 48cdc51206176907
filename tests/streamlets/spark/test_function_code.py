"""Python functions have digests of what they do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from streamlets.spark.function_code import UnreadableCodeError, code_digest

SOURCE = """
    LIMIT = 5
    def helper(x):
        return x * 2
    def f(x, y=1):
        return helper(x) + LIMIT + y
"""


def load(source: str, name: str = "f") -> Any:
    """Return a function of a module of the project with this source."""
    module: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(dedent(source), "module.py", "exec"), module)
    return module[name]


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE.replace("LIMIT = 5", "LIMIT = 6"),
        SOURCE.replace("x * 2", "x * 3"),
        SOURCE.replace("x * 2", "x + 2"),
        SOURCE.replace("y=1", "y=2"),
        SOURCE.replace("+ LIMIT", "- LIMIT"),
        SOURCE.replace("helper(x) +", "abs(x) +"),
    ],
)
def test_a_change_of_what_a_function_does_is_another_digest(changed: str) -> None:
    """Its own code, its defaults, the values and the functions of the project that it uses."""
    assert code_digest(load(SOURCE)) != code_digest(load(changed))


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE,
        "\n\n    # a comment\n" + SOURCE,
        SOURCE.replace("return x * 2", "return  (x * 2)  # twice"),
        SOURCE.replace("def helper(x):", 'def helper(x):\n        "Documented."'),
        SOURCE + "    def unused():\n        return 7\n",
    ],
)
def test_comments_lines_and_what_it_does_not_use_are_no_difference(changed: str) -> None:
    """Otherwise each edit of a file would be a change."""
    assert code_digest(load(SOURCE)) == code_digest(load(changed))


def _closure(value: object) -> Callable[[], object]:
    return lambda: value


class Counter:
    """A callable with values of its own."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, x: int) -> int:
        """Return the next number."""
        return x + self.step


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_closure(1), _closure(2)),
        (_closure({"a": [1, 2]}), _closure({"a": [1, 3]})),
        (_closure({1, 2}), _closure({1, 3})),
        (_closure(1), _closure(True)),
        (partial(pow, 2), partial(pow, 3)),
        (Counter(1), Counter(2)),
        (Counter(1).__call__, Counter(2).__call__),
        (lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]),
    ],
)
def test_closures_objects_and_inner_functions_are_parts(one: object, other: object) -> None:
    """Equal values in other objects have equal digests."""
    assert code_digest(one) != code_digest(other)
    assert code_digest(_closure({3, 1, 2})) == code_digest(_closure({2, 3, 1}))
    assert code_digest(Counter(7)) == code_digest(Counter(7))


def test_functions_of_imported_project_modules_are_followed(tmp_path: Path) -> None:
    """Also through the name of the module, and in another process: hashes of strings differ there."""
    (tmp_path / "rates.py").write_text("def rate(k):\n    return {'a': 2, 'b': 3}[k]\n")
    (tmp_path / "app.py").write_text("import rates\ndef f(k):\n    return rates.rate(k) in {'x', 'y', 'z'}\n")
    program = "from streamlets.spark.function_code import code_digest; import app; print(code_digest(app.f))"

    def digest(seed: str) -> str:
        environment = {"PYTHONPATH": f"{tmp_path}:{Path.cwd()}", "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    before = digest("1")
    assert digest("2") == before
    (tmp_path / "rates.py").write_text("def rate(k):\n    return {'a': 2, 'b': 4}[k]\n")
    assert digest("1") != before


def test_a_value_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """An open file is not a value that could be compared."""
    with (tmp_path / "file").open("w") as file, pytest.raises(UnreadableCodeError):
        code_digest(_closure(file))
