"""`SourceSettings`: what Spark's processes need to know of a batch source."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from blueprint.plan import TopicPlan
from streamlets.runner.state_directory.places import Places

OPTION = "secret-settings"
"""The option of the data source with the settings. Spark's user interface hides the values of options with `secret`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """The settings of a source's reader.

    Arguments:
        class_name: the class of the source, `module.Class`.
        streamlet: the name of the source.
        project: the directory that modules are imported from.
        config: the typed values of parameters by key.
        volume_mounts: directories by mount name.
        outlet: the name of the outlet.
        contract: the contract of the outlet, as JSON.
        broken_records: whether records that break the contract are dead letters; otherwise they fail their task.
        max_tasks: the largest number of tasks of a batch.
        max_attempts: the number of times that a task is tried.
        retry_delay: seconds before the second attempt; doubled before each further one.
        timeout: seconds after which an attempt is ended and has failed.
        on_failure: what happens when all attempts have failed.
        topic: the task topic.
        topics: the application's directory of topics.
        progress: the file in which the runner reports its discoveries.
        places: the places of the project; paths in earlier tasks are translated.
        secrets: the secrets of the configuration, which no file and no output shows.
        version: the version of the application, for dead letters.
    """

    class_name: str
    streamlet: str
    project: str
    config: Mapping[str, object]
    volume_mounts: Mapping[str, str] = field(default_factory=dict)
    outlet: str
    contract: str
    broken_records: bool
    max_tasks: int
    max_attempts: int
    retry_delay: float
    timeout: float
    on_failure: Literal["dead-letters", "fail"]
    topic: TopicPlan
    topics: Path
    progress: Path
    places: Places = field(default_factory=Places)
    secrets: frozenset[str] = frozenset()
    version: str = ""

    def to_options(self) -> dict[str, str]:
        """Return the option for Spark."""
        return {OPTION: base64.b64encode(pickle.dumps(self)).decode()}

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> SourceSettings:
        """Return the settings from the option, which only `to_options` sets."""
        settings = pickle.loads(base64.b64decode(options[OPTION]))
        assert isinstance(settings, cls)
        return settings
