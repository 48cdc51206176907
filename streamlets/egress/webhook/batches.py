"""The batches of the sink `webhook`: a batch is stored first, so that another attempt sends the same requests.

Spark writes the records of a batch as lines of JSON to `staging/<sink>/<query id>/<batch>/` of the state directory.
From the rename of that directory on, the batch is decided: a replay sends these records, in requests with the same
idempotency keys, and begins after the last request that the server has taken.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.quantities import Duration, MemorySize
from streamlets.batches import execute, query_id
from streamlets.egress.base import SinkQuery
from streamlets.egress.errors import SinkError
from streamlets.egress.text import JSON
from streamlets.egress.webhook.headers import headers_of
from streamlets.egress.webhook.server import RefusedError, Server, ServerError
from streamlets.part_files import write_part_files
from streamlets.storage import objects
from streamlets.storage.crash import crash_point
from streamlets.storage.damage import DamagedFileError, damaged, read_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RECORDS, _SENT, _SIZES = "records", "sent", "sizes.json"
"""In the directory of a batch: the files with its records, which are removed when all of them were sent; the number of
records that the server has taken or refused; and the size of each file of records."""

_REMEDY = "delete the directory of the batch: all of its records are then sent again"


@dataclass(slots=True)
class WebhookBatches:
    """The function of the sink's `foreachBatch`, and the record of its batches.

    Arguments:
        query: the query and its options.
        server: the server; default: the server of the options.
    """

    query: SinkQuery
    server: Server = field(default=None)  # type: ignore[assignment]  # replaced below

    def __post_init__(self) -> None:
        if self.server is None:
            options, timeout = self.query.options, self.query.options["timeout"]
            seconds = timeout.seconds if isinstance(timeout, Duration) else 30.0
            self.server = Server(str(options["url"]), headers_of(options), seconds, int(str(options["attempts"])))

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Send the records of a batch that the server has not taken yet.

        Raises:
            SinkError: the server does not take them; the next attempt continues there.
        """
        id = query_id(rows)
        replayed = self._decided(id, batch).is_dir()
        if replayed:
            execute(rows)
        else:
            self._forget_before(id, batch)
            self._stage(rows, id, batch)
        self.query.written(batch, self.deliver(id, batch), replayed=replayed)
        crash_point("before-spark-commit")

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether the records of a batch, or of a later one, were decided."""
        return any(int(path.name) >= batch for path in self._of_query(id).glob("[0-9]*"))

    def deliver(self, id: str, batch: int) -> int:
        """Send the decided records of a batch that the server has not taken yet, and return how many the batch has.

        Arguments:
            id: the id of the query.
            batch: the number of the batch.

        Raises:
            SinkError: as for a call.
            DamagedFileError: what is stored of the batch is damaged.
        """
        directory = self._decided(id, batch)
        stored = read_whole(directory / _SENT, int, "the number of records that a server has taken", _REMEDY)
        sent = total = stored or 0
        for start, lines in self._requests(_whole_files(directory), sent):
            self._send(lines, start, f"{id}-{batch}", directory)
            crash_point("after-topic-commit")
            total = start + len(lines)
            objects.replace(directory / _SENT, str(total).encode())
        shutil.rmtree(directory / _RECORDS, ignore_errors=True)  # `sent` remains until Spark has committed the batch
        return total

    def _stage(self, rows: DataFrame, id: str, batch: int) -> None:
        from pyspark.sql import functions as F

        for earlier in self._of_query(id).glob(".*"):  # attempts that were not decided; their tasks may still run
            shutil.rmtree(earlier, ignore_errors=True)
        staged = self._of_query(id) / f".{batch}-{uuid.uuid4().hex[:8]}"
        record = F.to_json(
            F.struct(*(F.col(f"`{name}`") for name in rows.columns)), {**JSON, "ignoreNullFields": "false"}
        )
        lines = {"compression": "none", "lineSep": "\n", "encoding": "utf-8"}
        values = rows.select(record.alias("value"))
        files = write_part_files(values, staged / _RECORDS, format="text", options=lines, one_line_each=True)
        objects.replace(staged / _SIZES, json.dumps({file.name: file.stat().st_size for file in files}).encode())
        crash_point("after-data-files")
        staged.rename(self._decided(id, batch))
        objects.sync_names(self._of_query(id))
        crash_point("after-manifest")

    def _requests(self, files: Sequence[Path], start: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the records of each request, and the number of its first record in the batch, from a record on."""
        most, limit = int(str(self.query.options["max-records"])), self.query.options["max-bytes"]
        size = limit.bytes if isinstance(limit, MemorySize) else 2**20
        lines, bytes = list[str](), 0
        for number, line in enumerate(_lines(files)):
            if number < start:
                continue
            length = len(line.encode()) + 1  # and the comma
            if lines and (len(lines) == most or bytes + length + 1 > size):
                yield start, lines
                start, lines, bytes = number, [], 0
            lines.append(line)
            bytes += length
        if lines:
            yield start, lines

    def _send(self, lines: Sequence[str], start: int, batch: str, directory: Path) -> None:
        """Send a request; if the server refuses it, send its halves, until the refused records are known."""
        refused: list[str] = []
        self._send_parts(lines, start, batch, refused)
        if refused:
            letters = Path(str(self.query.options["dead-letters"]))
            letters.mkdir(parents=True, exist_ok=True)
            text = "".join(f"{letter}\n" for letter in refused)
            objects.replace(letters / f"{self.query.name}-{batch}-{start}.json", text.encode())

    def _send_parts(self, lines: Sequence[str], start: int, batch: str, refused: list[str]) -> None:
        key = f"{batch}-{start}-{start + len(lines)}"
        try:
            self.server.post(f"[{','.join(lines)}]".encode(), key)
        except ServerError as error:
            raise SinkError(f"{self.query.name}: {error}; the next attempt continues with this request") from None
        except RefusedError as error:
            if len(lines) > 1:
                middle = len(lines) // 2
                self._send_parts(lines[:middle], start, batch, refused)
                self._send_parts(lines[middle:], start + middle, batch, refused)
                return
            if "dead-letters" not in self.query.options:
                raise SinkError(
                    f"{self.query.name}: `{self.server.shown}` refused a record ({error}); set `options.dead-letters` "
                    "to continue without such records"
                ) from None
            letter = {"status": error.status, "answer": error.answer, "record": json.loads(lines[0])}
            refused.append(json.dumps(letter))

    def _forget_before(self, id: str, batch: int) -> None:
        """Delete what is stored of earlier batches, which Spark has committed."""
        for path in self._of_query(id).glob("[0-9]*"):
            if int(path.name) < batch:
                shutil.rmtree(path)

    def _of_query(self, id: str) -> Path:
        return Path(self.query.application) / "staging" / self.query.name / id

    def _decided(self, id: str, batch: int) -> Path:
        return self._of_query(id) / str(batch)


def _lines(files: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of the files of a batch's records."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as text:
            for line in text:
                yield line.rstrip("\n")


def _whole_files(directory: Path) -> list[Path]:
    """Return the files of a batch's records, in an order that does not change; none if all records were sent.

    Raises:
        DamagedFileError: a file is missing, or does not have the size that Spark has written.
    """
    sizes = _read_sizes(directory)
    files = {directory / _RECORDS / name: sizes[name] for name in sorted(sizes)}
    for file, size in files.items():
        if not file.is_file() or file.stat().st_size != size:
            raise DamagedFileError(
                f"the records of a batch are incomplete: {file} should have {size:,} bytes; restore the file from a "
                f"backup; otherwise {_REMEDY}"
            )
    return list(files)


def _read_sizes(directory: Path) -> dict[str, int]:
    """Return the size in bytes of each file of a batch's records, by name; of no file if they have all been sent.

    Raises:
        DamagedFileError: the list of the files is damaged.
    """
    if not (directory / _SENT).exists() or (directory / _RECORDS).exists():
        what = "the list of the records of a batch"
        sizes = read_whole(directory / _SIZES, _sizes, what, _REMEDY)
        if sizes is None:
            raise damaged(what, directory / _SIZES, None, _REMEDY)
        return sizes
    return {}


def _sizes(data: bytes) -> dict[str, int]:
    return {str(name): int(size) for name, size in json.loads(data).items()}
