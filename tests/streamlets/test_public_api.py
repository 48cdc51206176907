"""The public API, and the cost of importing it."""

from __future__ import annotations

import subprocess
import sys

import streamlets
import streamlets.testkit


def test_all_is_sorted_and_complete() -> None:
    """Every name in `__all__` exists."""
    for package in (streamlets, streamlets.testkit):
        assert list(package.__all__) == sorted(package.__all__)
        assert all(hasattr(package, name) for name in package.__all__)


def test_the_api_does_not_import_large_libraries() -> None:
    """An author's module, and therefore `flow verify`, must not wait for the import of Spark, Arrow or pandas."""
    code = (
        "import sys, streamlets, streamlets.project.catalog, streamlets.project.loading;"
        "print(sorted({'pyspark', 'pyarrow', 'pandas', 'deltalake', 'networkx', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
