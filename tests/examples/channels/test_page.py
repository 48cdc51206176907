"""The smallest channel on the page about channels passes the suite."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from streamlets.channels.channel_type import ChannelType
from streamlets.testkit.channels import ChannelSuite
from tests.installed import install
from tests.pages import blocks

PROJECT = """
[project]
name = "shelf"
version = "1.0"

[project.entry-points."streamlets.channels"]
shelf = "shelf_on_page:ShelfChannelType"
"""
MODULE, *_ = blocks("docs/channels.md", "python")


def on_page() -> ChannelType:
    """Return the channel of the page."""
    module = sys.modules["shelf_on_page"] = ModuleType("shelf_on_page")
    exec(MODULE, vars(module))
    kind: ChannelType = module.ShelfChannelType()
    return kind


class TestShelf(ChannelSuite):
    """Without Spark, whose workers cannot import the page."""

    channel = on_page()

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
        """Install the package."""
        if request.node.get_closest_marker("spark"):
            pytest.skip("the module is on a page only")
        project = tmp_path / "project"
        project.mkdir()
        (project / "pyproject.toml").write_text(PROJECT)
        install(project, tmp_path / "installed", monkeypatch)
