"""`flow verify` answers whatever becomes of an application's files; benchmarks/accidents.py asks ten thousand times."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest

from tests.cli.accidents import Workshop, answered, mutations, random_bytes


def test_the_application_itself_is_sound_in_every_format(tmp_path: Path) -> None:
    """HOCON, YAML and JSON of it have no findings and exit code 0."""
    workshop = Workshop(tmp_path)
    for file in workshop.files[:3]:
        with workshop.with_bytes(file, file.read_bytes()) as arguments:
            assert answered(arguments).code == 0


@pytest.mark.parametrize("accidents", [mutations, random_bytes])
def test_every_accident_has_an_answer(accidents: type, tmp_path: Path) -> None:
    """Exit code 1 with findings or 0 without, no traceback, within two seconds."""
    workshop = Workshop(tmp_path)
    codes = set()
    for file, data in islice(accidents(workshop, random.Random(5)), 60):
        with workshop.with_bytes(file, data) as arguments:
            codes.add(answered(arguments).code)
    assert 1 in codes
