"""The smallest channel on the page about channels passes the suite."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from streamlets.channels.channel_type import ChannelType
from streamlets.testkit.channels import ChannelBench
from streamlets.testkit.channels.topics import TopicTests
from streamlets.testkit.channels.traits import TraitTests
from streamlets.testkit.channels.writers import WriterTests
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


class TestShelf(TopicTests, WriterTests, TraitTests):
    """Without queries: the workers of Spark cannot import a module that is on a page only."""

    channel = on_page()

    @pytest.fixture
    def channel_bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> ChannelBench:
        """Return the channel in a new directory."""
        return ChannelBench(self.channel, tmp_path, request)

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install the package."""
        project = tmp_path / "project"
        project.mkdir()
        (project / "pyproject.toml").write_text(PROJECT)
        (project / "shelf_on_page.py").write_text(MODULE)  # which other processes import
        install(project, tmp_path / "installed", monkeypatch)
