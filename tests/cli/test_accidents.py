"""`flow verify` reports damaged files of an application; benchmarks/accidents.py does this ten thousand times."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest

from tests.cli.accidents import ApplicationCopies, mutations, random_bytes, verify


def test_the_application_is_valid_in_every_format(tmp_path: Path) -> None:
    """The blueprint in HOCON, YAML and JSON has no findings and exit code 0."""
    copies = ApplicationCopies(tmp_path)
    for file in copies.files[:3]:
        with copies.with_bytes(file, file.read_bytes()) as arguments:
            assert verify(arguments).code == 0


@pytest.mark.parametrize("accidents", [mutations, random_bytes])
def test_damaged_files_are_reported(accidents: type, tmp_path: Path) -> None:
    """The exit code is 1 with findings or 0 without, within two seconds, and there is no traceback."""
    copies = ApplicationCopies(tmp_path)
    codes = set()
    for file, data in islice(accidents(copies, random.Random(5)), 60):
        with copies.with_bytes(file, data) as arguments:
            codes.add(verify(arguments).code)
    assert 1 in codes
