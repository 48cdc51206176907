"""A task of an earlier attempt that commits while the batch is repeated: its records are not in the batch.

The driver regards an executor as lost that does not answer. It may go on minutes later, in the middle of a commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamlets.egress import staging
from streamlets.egress.staging import staged
from streamlets.egress.webhook import batches as webhook
from streamlets.egress.webhook.batches import WebhookBatches
from streamlets.part_files import write_part_files

pytestmark = pytest.mark.spark


class AttemptError(Exception):
    """The first attempt fails."""


def waking(rows: DataFrame, directory: Path, content: bytes) -> DataFrame:
    """Return rows in whose execution an abandoned task of an attempt commits its file in the attempt's directory."""
    places = [directory / "part-late", directory / "_temporary" / "0" / "task_1_m_000007" / "part-late"]

    def wake(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in places:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        yield from batches

    return rows.mapInArrow(wake, rows.schema)


def attempts(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[Path]:
    """Return the directories that a module writes to, as it does."""
    directories: list[Path] = []

    def write(rows: DataFrame, directory: Path, **options: Any) -> tuple[Path, ...]:
        directories.append(directory)
        return write_part_files(rows, directory, **options)

    monkeypatch.setattr(module, "write_part_files", write)
    return directories


def test_a_staged_batch_has_the_records_of_one_attempt(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sinks `delta`, `iceberg` and `jdbc` write what is staged."""
    directories, rows = attempts(monkeypatch, staging), spark.range(3).coalesce(1)
    with pytest.raises(AttemptError), staged(rows, tmp_path / "staging") as records:
        content = Path(records.files[0]).read_bytes()
        raise AttemptError
    with staged(waking(rows, directories[0], content), tmp_path / "staging") as records:
        assert sorted(records.to_table().column("id").to_pylist()) == [0, 1, 2]
    assert not list(tmp_path.rglob("part-*"))


def test_a_webhook_sends_the_records_of_one_attempt(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt ends before its records are decided."""
    directories, rows = attempts(monkeypatch, webhook), spark.range(3).coalesce(1)
    query: Any = SimpleNamespace(name="alarms", application=str(tmp_path))
    batches: Any = SimpleNamespace(query=query)
    for name in ("_of_query", "_decided"):
        setattr(batches, name, getattr(WebhookBatches, name).__get__(batches))
    monkeypatch.setattr(Path, "rename", lambda self, target: (_ for _ in ()).throw(AttemptError))
    with pytest.raises(AttemptError):
        WebhookBatches._stage(batches, rows, "id", 7)
    monkeypatch.undo()
    WebhookBatches._stage(batches, waking(rows, directories[0], b'{"id":0}\n'), "id", 7)
    lines = list(webhook._lines(webhook._whole_files(batches._decided("id", 7))))
    assert lines == ['{"id":0}', '{"id":1}', '{"id":2}']
