"""What `import streamlets` gives and does."""

from __future__ import annotations

import subprocess
import sys

import streamlets
import streamlets.testkit


def test_all_is_sorted_and_there() -> None:
    """Every public name exists, in order."""
    for package in (streamlets, streamlets.testkit):
        assert list(package.__all__) == sorted(package.__all__)
        assert all(hasattr(package, name) for name in package.__all__)


def test_importing_the_api_imports_nothing_heavy() -> None:
    """An author's module, and `flow verify` with it, must not pay for Spark, Arrow or pandas."""
    code = (
        "import sys, streamlets, streamlets.project.catalog, streamlets.project.loading;"
        "print(sorted({'pyspark', 'pyarrow', 'pandas', 'deltalake', 'networkx', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
