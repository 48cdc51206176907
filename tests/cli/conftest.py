"""Call the command as a user does, without a process for each call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cli.main import main


@dataclass(frozen=True)
class Result:
    """The exit code and the output of a call."""

    code: int
    out: str
    err: str


Flow = Callable[..., Result]


@pytest.fixture
def flow(capsys: pytest.CaptureFixture[str]) -> Flow:
    """Return a function that runs the command: `flow("verify", "examples/flights")`."""

    def call(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Result(ended.value.code, captured.out, captured.err)

    return call
