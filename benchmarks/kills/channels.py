"""The example channels of other packages: the application of the runner's tests on each of them."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow.dataset as ds
import pytest

from benchmarks.kills.ledger import Ledger, Topics, as_text
from blueprint.plan import TopicPlan
from streamlets.channels.registry import CHANNEL_TYPES
from tests.examples.channels.redis_server import running
from tests.installed import installed_channel

POINTS = (
    "after-data-files",
    "after-batch-begun",
    "after-append-file",
    "after-append-commit",
    "after-topic-commit",
    "before-spark-commit",
)


class ChannelLedger(Ledger):
    """The application on a channel.

    Arguments:
        directory: the directory of the application.
        channel: the name of the channel.
        settings: the settings of its topics by key; also of the application, for the run.
        options: additional options of `flow run`.
    """

    def __init__(
        self, directory: Path, channel: str, settings: Mapping[str, object], options: Sequence[str] = ()
    ) -> None:
        own = (f"flow.channel={channel}", *(f'flow.{channel}.{key}="{value}"' for key, value in settings.items()))
        super().__init__(directory, options=(*own, *options))
        self._channel, self._topic_settings = channel, settings

    def records(self) -> dict[str, Counter[str]]:
        """Return how often each record is in each topic and in the Parquet files."""
        channel = CHANNEL_TYPES[self._channel].open(self.home / "topics")
        counts: dict[str, Counter[str]] = {}
        for name in self.topics:
            topic = channel.topic(TopicPlan(name, name, self._channel, True, (), (), self._topic_settings))
            counts[name] = Counter(as_text(row) for batch in topic.scan() for row in batch.to_pylist())
        rows = ds.dataset(self.directory / "out", format="parquet").to_table().to_pylist()
        return {**counts, "parquet": Counter(map(as_text, rows))}

    @property
    def _environment(self) -> dict[str, str]:
        return {**super()._environment, "PYTHONPATH": f"{super()._environment['PYTHONPATH']}{os.pathsep}{_path()}"}

    def _how_far(self, streamlet: str, batch: int) -> str:
        return "executing"


def _path() -> str:
    return os.environ["PYTHONPATH"]  # with the installed channel


class Channel(Topics):
    """The application on an example channel, disturbed by kills, and undisturbed."""

    points = POINTS
    each = 3
    kills = 6
    name: ClassVar[str] = "sqlite"

    def __init__(self, directory: Path, dice: random.Random, options: Sequence[str] = ()) -> None:
        patch = pytest.MonkeyPatch()
        installed_channel(self.name, directory.resolve(), patch)
        super().__init__(directory, dice, options)
        self.resources.callback(patch.undo)

    def applications(self, options: Sequence[str]) -> tuple[ChannelLedger, ChannelLedger]:
        """Return the application that is killed, and the undisturbed one."""
        disturbed, undisturbed = self.directory / "disturbed", self.directory / "undisturbed"
        return (
            ChannelLedger(disturbed, self.name, self.settings(), options),
            ChannelLedger(undisturbed, self.name, self.settings(), options),
        )

    def settings(self) -> Mapping[str, object]:
        """Return the settings of an application."""
        return {}


class Redis(Channel):
    """The application over Redis, with a server for each of the two."""

    name = "redis"

    def settings(self) -> Mapping[str, object]:
        """Return the address of a new server."""
        return {"url": self.resources.enter_context(running())}
