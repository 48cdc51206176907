"""Small files of a sink are merged: no record is lost or duplicated, with a kill at any point."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamlets.egress.files import compaction, record
from streamlets.egress.files.compaction import Compaction, concatenate
from streamlets.egress.files.record import FilesRecord
from streamlets.egress.files.writer import _stem

NOW = 1_700_000_000.0


class Sink:
    """A sink that writes a CSV file per batch, and merges files after an hour."""

    def __init__(self, root: Path) -> None:
        self.record = FilesRecord(root, "archive", "mine")
        self.now = NOW
        self.record.claim("q")

    def put(self, batch: int, *lines: str, directory: str = "") -> None:
        """Publish a batch."""
        path = f"{directory}archive-q-{batch:06}-00000.csv"
        (self.record.root / path).parent.mkdir(exist_ok=True)
        (self.record.root / path).write_text("".join(f"{line}\n" for line in ("n", *lines)))
        os.utime(self.record.root / path, (self.now, self.now))
        self.record.publish("q", batch, [path])

    def merge(self, batch: int) -> None:
        """Merge files, as the sink does after a batch."""
        options = {"header": "true"}
        merging = Compaction(self.record, "csv", options, 3600, lambda: self.now)
        session: Any = None  # merging text needs no Spark
        merging.run(session, "q", batch)

    def files(self) -> list[str]:
        """Return the visible files."""
        names = (path.relative_to(self.record.root).as_posix() for path in self.record.root.rglob("*.csv"))
        return sorted(name for name in names if not name.startswith("_"))

    def rows(self) -> list[str]:
        """Return the rows that a reader sees."""
        texts = [(self.record.root / name).read_text().splitlines() for name in self.files()]
        assert all(lines[0] == "n" for lines in texts)
        return sorted(row for lines in texts for row in lines[1:])


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    """Return a sink with three batches, the last of which Spark may not have committed."""
    sink = Sink(tmp_path / "out")
    for batch in range(3):
        sink.put(batch, f"{batch}a", f"{batch}b")
    return sink


ROWS = ["0a", "0b", "1a", "1b", "2a", "2b"]


def test_files_are_merged_once_the_oldest_is_old_enough(sink: Sink) -> None:
    """Files are not merged earlier. The last batch, which may be replayed, and merged files are not merged."""
    sink.merge(2)
    assert len(sink.files()) == 3
    sink.now += 3600
    sink.merge(2)
    assert sink.files() == ["archive-q-000000-00000-000001-merged.csv", "archive-q-000002-00000.csv"]
    assert sink.rows() == ROWS
    assert sorted(sink.record.files("q")) == sink.files()
    sink.put(3, "3a")
    sink.now += 3600
    sink.merge(3)
    assert sink.files() == ["archive-q-000000-00000-000001-merged.csv", *sink.files()[1:]]
    sink.merge(4)
    assert sink.files() == ["archive-q-000000-00000-000001-merged.csv", "archive-q-000002-00000-000003-merged.csv"]
    assert sink.rows() == [*ROWS, "3a"]
    assert not (sink.record.root / "_staging").exists()
    assert sink.record.delete("q") == 2
    assert sink.files() == []


def test_files_are_merged_within_their_directory(sink: Sink) -> None:
    """Partition directories stay separate."""
    for batch in (3, 4):
        sink.put(batch, f"{batch}", directory="odd=1/")
    sink.now += 3600
    sink.merge(5)
    merged = ["archive-q-000000-00000-000002-merged.csv", "odd=1/archive-q-000003-00000-000004-merged.csv"]
    assert sink.files() == merged
    assert sink.rows() == [*ROWS, "3", "4"]


def test_files_grow_to_a_limit(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file is not merged, and a merged file is at most twice as large as the limit."""
    monkeypatch.setattr(compaction, "LARGE", 15)
    for batch in range(3, 8):
        sink.put(batch, f"{batch}")
    sink.put(8, "large" * 5)
    sink.now += 3600
    sink.merge(9)
    assert sink.rows() == sorted([*ROWS, *"34567", "large" * 5])
    assert all((sink.record.root / name).stat().st_size < 30 for name in sink.files())
    assert len(sink.files()) == 4


def test_many_files_of_one_batch(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two merged files have the same first and last batch, and none of them replaces the other."""
    paths = []
    for number in range(6):
        paths.append(f"archive-q-000003-{number:05}.csv")
        (sink.record.root / paths[-1]).write_text(f"n\n3.{number}\n")
    sink.record.publish("q", 3, paths)
    monkeypatch.setattr(compaction, "LARGE", 12)
    sink.now += 3600
    sink.merge(4)
    assert sink.rows() == sorted([*ROWS, *(f"3.{number}" for number in range(6))])
    assert len(sink.files()) < 9


def test_files_with_other_columns_are_not_merged(sink: Sink) -> None:
    """After a change of the columns, a merged file could have only those of the one or the other."""
    for batch in (3, 4):
        path = f"archive-q-{batch:06}-00000.csv"
        (sink.record.root / path).write_text(f"n,more\n{batch},x\n")
        sink.record.publish("q", batch, [path])
    sink.now += 3600
    sink.merge(5)
    merged = ["archive-q-000000-00000-000002-merged.csv", "archive-q-000003-00000-000004-merged.csv"]
    assert sink.files() == merged
    assert [(sink.record.root / name).read_text().split()[0] for name in merged] == ["n", "n,more"]


def test_a_file_with_the_name_of_a_merged_one_is_kept(sink: Sink) -> None:
    """Neither is it replaced, nor are the files deleted that were to be merged."""
    sink.now += 3600
    (sink.record.root / "archive-q-000000-00000-000001-merged.csv").write_text("n\nmine\n")
    sink.merge(2)
    assert sink.rows() == [*ROWS, "mine"]


class KilledError(BaseException):
    """Simulates the end of the process."""


@pytest.mark.parametrize("at", ["before-decision", "before-rename", "before-deletion", "before-list"])
def test_a_kill_at_any_point_keeps_every_record_once(sink: Sink, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start completes the merges that were decided, and no others."""

    def killed(*_: Any, **__: Any) -> None:
        raise KilledError

    before = sink.files()
    with monkeypatch.context() as patch:
        match at:
            case "before-decision":
                patch.setattr(FilesRecord, "decide_merges", killed)
            case "before-rename":
                patch.setattr(FilesRecord, "finish_merges", killed)
            case "before-deletion":
                patch.setattr(record, "crash_point", killed)
            case "before-list":
                patch.setattr(FilesRecord, "files", _second(FilesRecord.files, killed))
        sink.now += 3600
        with pytest.raises(KilledError):
            sink.merge(3)
    if at == "before-decision":
        assert sink.files() == before
    sink.record.claim("q")
    assert sink.rows() == ROWS
    sink.record.unstage("q")
    sink.merge(3)
    assert sink.rows() == ROWS
    assert sink.files() == ["archive-q-000000-00000-000002-merged.csv"] == sink.record.files("q")


def _second(method: Callable[..., Any], then: Callable[..., Any]) -> Callable[..., Any]:
    calls = []

    def call(*args: Any) -> Any:
        calls.append(args)
        return method(*args) if len(calls) == 1 else then()

    return call


def test_files_without_replacement_are_not_deleted(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the staged file of a decided merge was deleted, the files that it should replace are kept."""
    sink.now += 3600
    with monkeypatch.context() as patch:
        patch.setattr(FilesRecord, "finish_merges", lambda *_: None)
        sink.merge(3)  # deletes the staging directory, because it assumes that the merge is complete
    sink.record.finish_merges("q")
    assert sink.rows() == ROWS


@pytest.mark.parametrize(
    ("suffix", "compress", "decompress"),
    [
        (".json", bytes, bytes),
        (".json.gz", gzip.compress, gzip.decompress),
        (".json.bz2", bz2.compress, bz2.decompress),
        (".json.deflate", zlib.compress, zlib.decompress),
    ],
)
def test_text_is_merged_unchanged(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes], decompress: Callable[[bytes], bytes]
) -> None:
    """The merged file is one stream, compressed with the same codec."""
    texts = [b'{"a":1}\n{"a":"\\n"}\n', b'{"a":2}\n']
    files = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(compress(text))
    concatenate(files, tmp_path / f"merged{suffix}", skip_header=False)
    assert decompress((tmp_path / f"merged{suffix}").read_bytes()) == b"".join(texts)


def test_names_of_files_have_one_dot() -> None:
    """The name of a sink of SQL has a dot; what follows the first dot of a file's name is its suffix."""
    assert _stem("job.archive", "8305ca09-3c17-474a") == "job-archive-8305ca09"
