"""Applications that accidents befell, put through `flow verify` as a user calls it; for a test and a benchmark."""

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

SOUND = Path(__file__).resolve().parent.parent / "seeded" / "dense"
LONGEST = 2.0
"""Seconds that an answer may take."""


class TooSlowError(Exception):
    """No answer within `LONGEST` seconds."""


@dataclass(frozen=True)
class Outcome:
    """What a call of `flow verify` came to."""

    code: int
    errors: int
    slowest: float


class Workshop:
    """A copy of a sound application with its blueprint in HOCON, YAML and JSON, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folders = {}
        tree, _ = resolve([parse_file(SOUND / "blueprint.conf")], {})
        for suffix in (".conf", ".yaml", ".json"):
            self._folders[suffix] = folder / suffix[1:]
            shutil.copytree(SOUND, self._folders[suffix], ignore=shutil.ignore_patterns("__pycache__"))
            if suffix != ".conf":  # JSON is YAML, too; a block style of its own is given to the YAML
                (self._folders[suffix] / "blueprint.conf").unlink()
                text = json.dumps(plain(tree), indent=1) if suffix == ".json" else _yaml(plain(tree))
                (self._folders[suffix] / f"blueprint{suffix}").write_text(text, encoding="utf-8")
        self.files = [
            *(self._folders[suffix] / f"blueprint{suffix}" for suffix in self._folders),
            *(self._folders[".conf"] / name for name in ("places.conf", "schemas/Roll.avsc", "schemas/Measured.avsc")),
        ]

    @contextlib.contextmanager
    def with_bytes(self, file: Path, data: bytes) -> Iterator[list[str]]:
        """The arguments of a call on the application while a file of it has these bytes."""
        before = file.read_bytes()
        file.write_bytes(data)
        try:
            yield ["verify", str(next(one for one in self._folders.values() if file.is_relative_to(one)))]
        finally:
            file.write_bytes(before)


def _yaml(tree: object) -> str:
    import yaml

    return str(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))


def mutations(workshop: Workshop, chance: random.Random) -> Iterator[tuple[Path, bytes]]:
    """Files of the application after one to four small accidents, without end; blueprints half of the time."""
    while True:
        file = chance.choice(workshop.files[:3] if chance.random() < 0.5 else workshop.files)
        yield file, mutated(file.read_text(encoding="utf-8"), chance).encode("utf-8", errors="replace")


def random_bytes(workshop: Workshop, chance: random.Random) -> Iterator[tuple[Path, bytes]]:
    """Blueprints, includes and schemas of anything at all, without end; a third is text of the formats' own signs."""
    while True:
        size = chance.choice((1, 8, 64, 512))
        data = chance.randbytes(size)
        if chance.random() < 0.33:
            data = bytes(chance.choice(b'{}[]"=:,#$\\\n .abc019-+|&*!%@`') for _ in range(size))
        yield chance.choice(workshop.files), data


def answered(arguments: list[str]) -> Outcome:
    """Call the command; raise when it does not answer as it must.

    Raises:
        TooSlowError: it takes too long.
        AssertionError: the exit code is not that of its findings, or there is a traceback or an internal error.
    """
    out, err = io.StringIO(), io.StringIO()
    timer = signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _exit_code([*arguments, "--format", "json"])
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, timer)
    said = out.getvalue() + err.getvalue()
    assert "Traceback" not in said, said
    assert "internal error" not in said, said
    report = json.loads(out.getvalue())
    errors = report["counts"]["error"]
    assert code == (1 if errors else 0), (code, said)
    return Outcome(code, errors, LONGEST - left)


def _exit_code(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    raise AssertionError("the command did not end")


def _too_slow(signal: int, frame: FrameType | None) -> None:
    raise TooSlowError
