"""Calling the command as a user does, without a process for each call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cli.main import main


@dataclass(frozen=True)
class Said:
    """What a call came to."""

    code: int
    out: str
    err: str


Flow = Callable[..., Said]


@pytest.fixture
def flow(capsys: pytest.CaptureFixture[str]) -> Flow:
    """`flow("verify", "examples/flights")`: exit code and outputs."""

    def call(*arguments: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, captured.out, captured.err)

    return call
