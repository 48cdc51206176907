"""Orders from files: a batch source over a directory of CSV files."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from streamlets import AvroOutlet, BatchSource, Eat, PathParameter, SourceContext
from streamlets.ingress.triggerers.files import FileVersion, matching_files

ORDER = "id long, product string, quantity int, price double"


class OrderFiles(BatchSource):
    """Reads each CSV file of a directory once, and again after it has changed."""

    out = AvroOutlet(schema=ORDER)
    folder = PathParameter("The directory of the files")

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None:
        self._folder: Path = config[self.folder.key]
        self._file: TextIO | None = None

    def discover(self, eat: Eat, event: str) -> None:
        for file in matching_files(self._folder / "*.csv"):
            version = FileVersion.of(file)
            eat(version.to_task(), key=version.key)

    def prepare(self, task: Any) -> None:
        self.close()  # the file of the previous task
        self._version = FileVersion.from_task(task)
        self._version.require_unchanged()
        self._file = Path(self._version.path).open(newline="", encoding="utf-8")  # noqa: SIM115 - `close` closes it
        self._rows: Iterator[dict[str, str]] = iter(csv.DictReader(self._file))

    def read_next(self) -> dict[str, Any] | None:
        row = next(self._rows, None)
        if row is None:
            self._version.require_unchanged()  # otherwise the task fails, and none of its rows is published
            return None
        return {
            "id": int(row["id"]),
            "product": row["product"],
            "quantity": int(row["quantity"]),
            "price": float(row["price"]),
        }

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
