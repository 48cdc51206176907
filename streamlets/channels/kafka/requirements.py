"""What the kafka channel needs besides Spark: a Python package, and the jars of its connector."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from blueprint.catalog import SparkArtifacts, UnmetRequirement
from streamlets.artifacts.connectors import available_jars_of
from streamlets.artifacts.maven import ArtifactError
from streamlets.channels.kafka.connector import CONNECTOR


def unmet(artifacts: SparkArtifacts) -> Iterator[UnmetRequirement]:
    """Yield the missing requirements. Jars that can still be fetched are not missing: a run fetches them."""
    if importlib.util.find_spec("confluent_kafka") is None:
        yield UnmetRequirement(
            (),
            "the kafka channel needs the Python package `confluent-kafka`, which is not installed",
            "install it: `pip install 'streamlets[kafka]'`",
        )
    try:
        available_jars_of([CONNECTOR], artifacts)
    except ArtifactError as error:
        yield UnmetRequirement(("spark", error.setting), str(error), error.help)
