"""Queries that cannot have the trigger that they have, found before they start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamlets.api.errors import StreamletError
from streamlets.runner.units.requirements import require_reported_inlets
from tests.streamlets.runner.units.test_followups import Bench


def test_real_time_without_dead_letters_at_inlets(tmp_path: Path) -> None:
    """Spark does not count there what a query has omitted, so such messages would be lost without a trace."""
    bench = Bench(tmp_path)
    topics: Any = {"in": bench.topic}
    with pytest.raises(StreamletError, match="`q` has a real-time trigger, and its inlet `in` has dead letters: "):
        require_reported_inlets("q", bench.plan, topics)
    failing = replace(bench.plan, inlets=tuple(replace(inlet, on_invalid="fail") for inlet in bench.plan.inlets))
    require_reported_inlets("q", failing, topics)
