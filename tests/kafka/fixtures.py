"""The fixture of tests with Kafka."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from streamlets.spark.artifacts import RepositoryUnreachableError
from tests.kafka.broker import shared


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
