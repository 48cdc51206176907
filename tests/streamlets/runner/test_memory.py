"""The memory of a runner with many streamlets."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from streamlets.runner.memory import share_memory


def plan_of(streamlets: int) -> Any:
    return SimpleNamespace(streamlets=range(streamlets))


@pytest.mark.parametrize(
    ("streamlets", "variables", "chosen"),
    [(3, {}, None), (200, {}, "system"), (200, {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")],
)
def test_only_many_streamlets_share_memory(streamlets: int, variables: dict[str, str], chosen: str | None) -> None:
    """Few are faster with an allocator for each thread; what the user has chosen stays."""
    share_memory(plan_of(streamlets), variables)
    assert variables.get("ARROW_DEFAULT_MEMORY_POOL") == chosen


def test_arrow_knows_the_variable() -> None:
    """It reads the variable when it is imported, and has an allocator of this name."""
    variables = dict(os.environ)
    variables.pop("ARROW_DEFAULT_MEMORY_POOL", None)
    share_memory(plan_of(200), variables)
    code = "import pyarrow as pa; print(pa.default_memory_pool().backend_name)"
    completed = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert completed.stdout == "system\n"


def test_a_run_does_not_import_arrow_before() -> None:
    """Otherwise the choice would have no effect."""
    code = "import sys, cli.commands.run, cli.runs.process, streamlets.runner.run; print('pyarrow' in sys.modules)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout == "False\n"
