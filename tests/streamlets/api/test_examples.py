"""The examples in the docstrings of the API."""

from __future__ import annotations

import doctest
import inspect
from importlib.metadata import version

import pytest

import streamlets

CLASSES = [name for name in streamlets.__all__ if inspect.isclass(getattr(streamlets, name))]


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_has_an_example_that_runs(name: str) -> None:
    """Examples that need no Spark are run; the others show code, or the blueprint."""
    documented = getattr(streamlets, name)
    docstring = inspect.getdoc(documented) or ""
    assert "\nExample:\n    " in docstring or "\n    " in docstring.partition("In the blueprint:")[2], docstring
    for example in doctest.DocTestFinder(recurse=False).find(documented, name):
        result = doctest.DocTestRunner().run(example)
        assert result.failed == 0


def test_the_package_has_its_version() -> None:
    """`streamlets.__version__` is the version that is installed."""
    assert streamlets.__version__ == version("streamlets")
