"""The fixtures of tests with Kafka: a broker, and a Spark that can use it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from blueprint.catalog import SparkArtifacts
from streamlets.artifacts.connectors import jars_of
from streamlets.artifacts.maven import RepositoryUnreachableError
from streamlets.channels.kafka.connector import CONNECTOR
from streamlets.testkit.session import start_session
from tests.kafka.broker import shared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start the Spark of all tests of a process. It has the connector of Kafka, unless that cannot be fetched: only the
    tests with a broker need it, and `kafka_broker` reports that."""
    try:
        jars = jars_of([CONNECTOR], SparkArtifacts())
    except RepositoryUnreachableError:
        jars = ()
    settings = {"spark.jars": ",".join(map(str, jars))}
    session = start_session(directory=tmp_path_factory.mktemp("spark"), settings=settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[str]:
    """Give the `bootstrap.servers` of a broker that all tests of this machine share, so names of topics must be free.

    Without access to the Maven repository the tests are skipped; in CI they fail.
    """
    with ExitStack() as using:
        try:
            servers = using.enter_context(shared())
        except RepositoryUnreachableError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no Kafka broker: {error}")
        yield servers
