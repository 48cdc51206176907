"""Python functions have digests of what they do."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from textwrap import dedent
from types import ModuleType
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
        SOURCE.replace("LIMIT", "MOST"),
        SOURCE.replace("helper", "rate"),
        SOURCE.replace("x, y=1", "z, y=1").replace("helper(x) +", "helper(z) +"),
        SOURCE.replace("def f(x, y=1)", "def f(x: int, y: int = 1) -> int"),
        SOURCE.replace("def f(x, y=1):\n        return", "f = lambda x, y=1:"),
    ],
)
def test_names_comments_lines_and_what_it_does_not_use_are_no_difference(changed: str) -> None:
    """Otherwise each edit of a file would be a change."""
    assert code_digest(load(SOURCE)) == code_digest(load(changed))


HIDDEN = (
    ("import functools\n@functools.lru_cache\ndef g(x): return x * 2\ndef f(x): return g(x)", "x * 2", "x * 3"),
    ("import functools\n@functools.singledispatch\ndef f(x): return x * 2", "x * 2", "x * 3"),
    ("def f(x): return x * f.rate\nf.rate = 2", "= 2", "= 3"),
    ("import enum\nclass R(enum.Enum):\n  A = 2\ndef f(x, r=R.A): return x * r.value", "= 2", "= 3"),
    ("class M(type):\n  def __call__(c, x): return x * 2\nclass B(metaclass=M): ...\ndef f(x): return B(x)",
     "* 2", "* 3"),
    ("class S:\n  def __getstate__(s): return {}\n  def __init__(s, r): s.r = r\nv = S(2)\ndef f(x): return v.r",
     "2", "3"),
    ("v = {'a': 2}.get\ndef f(x): return v(x)", "2", "3"),
    ("import re\nv = re.compile('a')\ndef f(x): return v.match(x)", "'a'", "'b'"),
    ("from dataclasses import dataclass\n@dataclass\nclass R:\n  a: int = 2\nr = R()\ndef f(x): return r.a", "2", "3"),
    ("def f(x): return dict(a=x)", "a=x", "b=x"),
    ("def g(x): return 1\ndef h(x): return 2\ndef f(x): return g(x) - h(x)", "g(x) - h(x)", "h(x) - g(x)"),
)  # fmt: skip
"""Functions with something that pickle, or a look at their own code, does not show."""


@pytest.mark.parametrize(("source", "old", "new"), HIDDEN)
def test_what_is_behind_decorators_attributes_and_objects_is_read(source: str, old: str, new: str) -> None:
    """A function that a decorator has wrapped, values of enumerations, regular expressions, data classes."""
    before = code_digest(load(source))
    assert code_digest(load(source)) == before
    assert code_digest(load(source.replace(old, new))) != before


@pytest.mark.parametrize(
    "source",
    [
        "v = 2\ndef f(x): return globals()['v']",
        "class S:\n  def __reduce__(s): return 'v'\nv = S()\ndef f(x): return v",
        "def f(x):\n  import no_such_module\n  return no_such_module.rate",
    ],
)
def test_what_is_only_named_cannot_be_read(source: str) -> None:
    """A digest without it would be the same after a change."""
    with pytest.raises(UnreadableCodeError):
        code_digest(load(source))


def test_names_of_arguments_are_read_if_the_call_has_them() -> None:
    """Exchanged names exchange the values, and the instructions stay the same."""
    one, other = (load(f"def f({names}): return {names.replace(',', ' -')}") for names in ("a, b", "b, a"))
    assert code_digest(one) == code_digest(other)
    assert code_digest(one, named=True) != code_digest(other, named=True)


@pytest.fixture
def shop() -> Iterator[Callable[[], object]]:
    """Return a function that unloads the package `shop`; what other tests have loaded is there again at the end."""

    def unload() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] == "shop"]
        return {name: sys.modules.pop(name) for name in names}

    before = unload()
    yield unload
    unload()
    sys.modules.update(before)


@pytest.mark.parametrize("statement", ["from . import rates", "from .rates import rate", "import shop.rates as rates"])
def test_modules_that_a_function_imports_itself_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: Callable[[], object], statement: str
) -> None:
    """They may not be loaded yet when the digest is made, and may be installed where libraries are."""
    from streamlets.spark import function_modules

    monkeypatch.setattr(function_modules, "_LIBRARIES", (str(tmp_path),))
    monkeypatch.syspath_prepend(str(tmp_path))
    call = "rate(x)" if statement.endswith("rate") else "rates.rate(x)"
    digests = []
    for number in (2, 2, 3):
        shop()
        package = tmp_path / "shop"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "rates.py").write_text(f"def rate(x):\n    return x * {number}\n")
        (package / "app.py").write_text(f"def f(x):\n    {statement}\n    return {call}\n")
        shutil.rmtree(package / "__pycache__", ignore_errors=True)
        importlib.invalidate_caches()
        digests.append(code_digest(importlib.import_module("shop.app").f))
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


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
