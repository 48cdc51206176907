"""Errors without a Java to start Spark with."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.spark.java import require_java
from streamlets.spark.session import SessionError


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java there is an error with what to install."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SessionError, match="Spark needs Java") as caught:
        require_java()
    assert "apt-get install openjdk-17" in caught.value.help


def test_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAVA_HOME that does not exist is an error with its path."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SessionError, match=r"JAVA_HOME is .*gone, but .*java does not exist"):
        require_java()
