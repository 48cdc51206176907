"""What can be wrong with the settings of a program, beyond the cases of `tests/diagnostics/spouts.md`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from streamlets.ingress.spouts import settings
from streamlets.ingress.spouts.settings import program_problems


def problems(directory: Path = Path("/"), **values: Any) -> list[str]:
    """Return the messages about the parameters of a spout whose blueprint is in a directory."""
    return [problem.message for problem in program_problems({"cmd": ["true"], **values}, directory)]


@pytest.mark.parametrize(("user", "privileged"), [(1000, True), (0, False)])
def test_a_privileged_port(user: int, privileged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root may listen on it."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(settings, "_FIRST_UNPRIVILEGED", "/no/such/file")
    expected = ["the port 80 is privileged: only root may listen on it"]
    assert problems(service={"port": 80}) == (expected if privileged else [])
    assert problems(service={"port": 1024}) == []


@pytest.mark.parametrize(
    ("cmd", "message"),
    [
        ([""], "the command is empty"),
        (["true", "a\0b"], "an argument of the command has a null character"),
        (["./missing"], "the program `./missing` does not exist"),
        (["./directory"], "the program `./directory` is a directory"),
        (["./script"], "the program `./script` is not executable"),
    ],
)
def test_a_program_in_the_working_directory(cmd: list[str], message: str, tmp_path: Path) -> None:
    """The finding says what is wrong with it."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert problems(cmd=cmd, **{"working-dir": tmp_path}) == [message]
    assert problems(tmp_path, cmd=cmd) == [message]  # without a working directory, in that of the blueprint


def test_a_secret_file_next_to_the_blueprint(tmp_path: Path) -> None:
    """Its path starts at the blueprint, and the message names it."""
    (tmp_path / "key").write_text("s3cret")
    assert problems(tmp_path, secrets={"A": {"file": "key"}}) == []
    (message,) = problems(tmp_path, secrets={"A": {"file": "kee"}})
    assert message == f"the secret `A` is not available: `{tmp_path}/kee`: No such file or directory"


def test_the_path_of_the_program_is_that_of_its_environment(tmp_path: Path) -> None:
    """The program is looked up where it will be found."""
    (tmp_path / "own").write_text("#!/bin/sh\n")
    (tmp_path / "own").chmod(0o755)
    assert problems(cmd=["own"]) == ["the program `own` is not in the directories of `PATH`"]
    assert problems(cmd=["own"], env={"PATH": str(tmp_path)}) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"env": {"A": ["x"]}}, "the value of `A` must be a string, found a list"),
        ({"env": {"": "x"}}, "`` is not the name of an environment variable"),
        ({"secrets": {"A": "x"}}, "the secret `A` must have either `env` or `file`"),
        ({"secrets": {"A": {"env": "X", "file": "y"}}}, "the secret `A` must have either `env` or `file`"),
        ({"secrets": {"A": {"env": "NOT_SET_AT_ALL"}}}, "the secret `A` is not available"),
        ({"service": {"prot": 1}}, "a service has no key `prot`; its only key is `port`"),
        ({"service": {"port": True}}, "`True` is not a port: ports are whole numbers from 1 to 65535"),
    ],
)
def test_other_settings(values: dict[str, Any], message: str) -> None:
    """Each has one finding."""
    (found,) = problems(**values)
    assert found.startswith(message)
