"""What the kafka channel needs is reported before a run, with what to do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from blueprint.catalog import SparkArtifacts
from streamlets.channels.kafka.connector import CONNECTOR
from streamlets.channels.kafka.requirements import unmet


def test_jars_that_can_be_fetched_are_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run fetches them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert list(unmet(SparkArtifacts())) == []


def test_a_directory_with_all_jars(tmp_path: Path) -> None:
    """Their versions do not matter."""
    for name in CONNECTOR.jars:
        (tmp_path / f"{name}-1.0.jar").touch()
    assert list(unmet(SparkArtifacts(jars=(str(tmp_path),)))) == []


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the command that installs it is the remedy."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name == "confluent_kafka" else real(name, *more)
    )
    found: list[Any] = list(unmet(SparkArtifacts()))
    assert [(lack.path, "confluent-kafka" in lack.message) for lack in found] == [((), True)]
    assert "pip install 'streamlets[kafka]'" in found[0].help


def test_wrong_settings(tmp_path: Path) -> None:
    """The finding is at the setting that is wrong."""
    (lack,) = unmet(SparkArtifacts(("kafka-clients",)))
    assert lack.path == ("spark", "packages")
    (lack,) = unmet(SparkArtifacts(jars=(str(tmp_path),)))
    assert lack.path == ("spark", "jars") and "no jars" in lack.message
