"""An application that a view of traces can be opened for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.core_settings import ApplicationSettings
from streamlets.runner.views import ViewContext


@pytest.fixture
def traced() -> ViewContext:
    """The context of a view of an application without streamlets."""
    plan: Any = SimpleNamespace(settings=ApplicationSettings(), name="nothing")
    state: Any = SimpleNamespace(checkpoints=Path("absent"))
    return ViewContext(plan=plan, state=state)
