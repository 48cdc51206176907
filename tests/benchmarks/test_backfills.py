"""A small version of `benchmarks/backfills`: one backfill that is killed twice, and continues."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.backfills.__main__ import content
from benchmarks.backfills.cases import Range, results, truth, write_application
from streamlets.storage.crash import VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def call(shop: Path, own: Range, *more: str, crash: str = "") -> subprocess.CompletedProcess[str]:
    """Call `flow backfill` in a process of its own."""
    arguments = ("backfill", *own.arguments, str(shop), "--name", "one", "--master", "local[2]", *more)
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())} | ({VARIABLE: crash} if crash else {})
    command = [sys.executable, "-m", "cli.main", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_a_backfill_of_windows_that_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    """Its results are those of a plain batch over all records. The application's files are not touched. It is repeated
    on request only, and continues only with the same arguments."""
    shop = write_application(tmp_path / "shop", random.Random(11))
    before, own = content(shop), Range("totals", 100, 140)
    into = ("--into", str(tmp_path / "out"))
    killed = call(shop, own, *into, crash="before-backfill-phase")  # after the warm-up
    assert killed.returncode == -9, killed.stderr
    assert "windows of 10 min and a watermark of 5 min" in killed.stdout
    other = call(shop, own, "--into", str(tmp_path / "elsewhere"))
    assert (other.returncode, "has another range, streamlet or target" in other.stderr) == (2, True)
    killed = call(shop, own, *into, crash="after-backfill-phase:2")  # after the range
    assert (killed.returncode, "continues with the warm-up" in killed.stdout) == (-9, True), killed.stderr
    done = call(shop, own, *into, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    expected = truth(spark, shop, own)
    assert results(tmp_path / "out" / "totals.parquet") == expected
    assert json.loads(done.stdout)["results"] == {"totals": len(expected)}
    again = call(shop, own, *into)
    assert (again.returncode, "it was done already" in again.stdout) == (0, True)
    assert content(shop) == before
