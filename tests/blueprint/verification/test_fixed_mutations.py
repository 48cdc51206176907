"""Fixes do no harm, whatever is wrong with a blueprint; `benchmarks/fixes.py` checks the same with 10,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blueprint.verification.fixed_mutations import fix_mutations


def test_fixes_neither_add_findings_nor_change_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Safe fixes add no finding of another kind and keep the graph; unsafe ones connect no port to two topics."""
    monkeypatch.chdir(tmp_path)
    outcome = fix_mutations(120, 1, tmp_path)
    assert outcome.introduced == []
    assert outcome.changed == []
    assert outcome.bound_twice == []
    assert outcome.blueprints > 20
