"""Applications with damaged files, verified with `flow verify` as a user calls it; for a test and a benchmark."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from blueprint.hocon import parse_file, plain, resolve
from cli.main import main
from tests.blueprint.verification.test_mutations import mutated

VALID = Path(__file__).resolve().parent.parent / "seeded" / "dense"
TIME_LIMIT = 2.0
"""Seconds that an answer may take."""


class TooSlowError(Exception):
    """No answer within `TIME_LIMIT` seconds."""


@dataclass(frozen=True)
class Outcome:
    """The result of a call of `flow verify`.

    Arguments:
        code: the exit code.
        errors: the number of errors.
        seconds: how long the call took.
    """

    code: int
    errors: int
    seconds: float


class ApplicationCopies:
    """Copies of a valid application with its blueprint in HOCON, YAML and JSON, each in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self._directories = {}
        tree, _ = resolve([parse_file(VALID / "blueprint.conf")], {})
        for suffix in (".conf", ".yaml", ".json"):
            self._directories[suffix] = directory / suffix[1:]
            shutil.copytree(VALID, self._directories[suffix], ignore=shutil.ignore_patterns("__pycache__"))
            if suffix != ".conf":  # JSON is YAML, too; the YAML file is written in block style.
                (self._directories[suffix] / "blueprint.conf").unlink()
                text = json.dumps(plain(tree), indent=1) if suffix == ".json" else _yaml(plain(tree))
                (self._directories[suffix] / f"blueprint{suffix}").write_text(text, encoding="utf-8")
        self.files = [
            *(self._directories[suffix] / f"blueprint{suffix}" for suffix in self._directories),
            *(
                self._directories[".conf"] / name
                for name in ("places.conf", "schemas/Roll.avsc", "schemas/Measured.avsc")
            ),
        ]

    @contextlib.contextmanager
    def with_bytes(self, file: Path, data: bytes) -> Iterator[list[str]]:
        """Yield the arguments of a call on the application while one of its files has these bytes."""
        before = file.read_bytes()
        file.write_bytes(data)
        try:
            yield ["verify", str(next(copy for copy in self._directories.values() if file.is_relative_to(copy)))]
        finally:
            file.write_bytes(before)


def _yaml(tree: object) -> str:
    import yaml

    return str(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))


def mutations(copies: ApplicationCopies, chance: random.Random) -> Iterator[tuple[Path, bytes]]:
    """Yield files of the application after one to four small mutations, without end; half of them are blueprints."""
    while True:
        file = chance.choice(copies.files[:3] if chance.random() < 0.5 else copies.files)
        yield file, mutated(file.read_text(encoding="utf-8"), chance).encode("utf-8", errors="replace")


def random_bytes(copies: ApplicationCopies, chance: random.Random) -> Iterator[tuple[Path, bytes]]:
    """Yield files with random bytes, without end; a third of them are random signs of the file formats."""
    while True:
        size = chance.choice((1, 8, 64, 512))
        data = chance.randbytes(size)
        if chance.random() < 0.33:
            data = bytes(chance.choice(b'{}[]"=:,#$\\\n .abc019-+|&*!%@`') for _ in range(size))
        yield chance.choice(copies.files), data


def verify(arguments: list[str]) -> Outcome:
    """Call the command, and check its answer.

    Raises:
        TooSlowError: it takes too long.
        AssertionError: the exit code is not that of its findings, or there is a traceback or an internal error.
    """
    out, err = io.StringIO(), io.StringIO()
    timer = signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _exit_code([*arguments, "--format", "json"])
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, timer)
    output = out.getvalue() + err.getvalue()
    assert "Traceback" not in output, output
    assert "internal error" not in output, output
    report = json.loads(out.getvalue())
    errors = report["counts"]["error"]
    assert code == (1 if errors else 0), (code, output)
    return Outcome(code, errors, TIME_LIMIT - left)


def _exit_code(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    raise AssertionError("the command did not end")


def _too_slow(signal: int, frame: FrameType | None) -> None:
    raise TooSlowError
