"""A source of another package, `tests/toy_source`, which is found by its entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlets import Source
from streamlets.ingress.sources import SOURCES
from streamlets.ingress.sources.registry import available_sources
from streamlets.testkit import Testkit

TOY = Path(__file__).resolve().parents[3] / "toy_source"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the package on the path, as an installation does."""
    monkeypatch.syspath_prepend(str(TOY))
    yield
    sys.modules.pop("toy_source", None)


@pytest.mark.usefixtures("installed")
def test_the_source_is_found_and_read(tmp_path: Path) -> None:
    """The registry has it next to the built-in sources, and its tasks are read once."""
    assert "numbers" in SOURCES and {"numbers", "csv"} <= available_sources().keys()
    with Testkit(directory=tmp_path) as kit:
        source = kit.batch_source(
            Source, parameters={"from": "numbers", "options": {"upto": 25}}, schemas={"out": "number long"}
        )
        assert len(source.run().tasks) == 3 and source.run().tasks == ()
        assert [row["number"] for row in source.outlet("out").take()] == [*range(25)]
