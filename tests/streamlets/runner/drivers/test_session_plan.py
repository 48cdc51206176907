"""Spark gets the jars that the settings name, besides those of Spark's own settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.catalog import SparkArtifacts
from blueprint.core_settings import ApplicationSettings
from blueprint.plan import ApplicationPlan
from streamlets.runner.drivers.driver import session_plan
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.session import SessionError


def _plan(directory: Path, *jars: Path, **spark: str) -> ApplicationPlan:
    artifacts = SparkArtifacts(jars=tuple(map(str, jars)))
    return ApplicationPlan(
        name="app",
        blueprint="blueprint.conf",
        directory=str(directory),
        streamlets=(),
        topics=(),
        settings=ApplicationSettings(spark=spark),
        artifacts=artifacts,
    )


def test_jars_of_the_settings(tmp_path: Path) -> None:
    """They are added to those of `spark.jars`; without any, the setting is not set."""
    jar = tmp_path / "lake-1.0.jar"
    jar.touch()
    state = StateDirectory(tmp_path, "app")
    assert session_plan(_plan(tmp_path), state, None).settings == {}
    assert session_plan(_plan(tmp_path, jar), state, None).settings == {"spark.jars": str(jar)}
    both = replace(_plan(tmp_path, jar), settings=ApplicationSettings(spark={"spark.jars": "mine.jar", "spark.a": "b"}))
    assert session_plan(both, state, None).settings == {"spark.jars": f"mine.jar,{jar}", "spark.a": "b"}


def test_a_jar_that_does_not_exist(tmp_path: Path) -> None:
    """Spark does not start; it would only warn."""
    with pytest.raises(SessionError, match=r"lost\.jar, but the file does not exist") as error:
        session_plan(_plan(tmp_path, tmp_path / "lost.jar"), StateDirectory(tmp_path, "app"), None)
    assert error.value.help
