"""The code of the guide runs unchanged."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "streamlets.md"


@pytest.mark.spark
def test_the_code_of_the_guide_runs(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """All Python blocks of the page are executed one after the other in one module."""
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    module = types.ModuleType("the_guide")
    monkeypatch.setitem(sys.modules, "the_guide", module)
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), vars(module))
