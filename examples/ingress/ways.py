"""Three ways to read a directory of CSV files with code; the other two of this example need none."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql.streaming import StreamingQuery

from streamlets import (
    AvroOutlet,
    BatchSource,
    Eat,
    GeneratorSpout,
    PathParameter,
    SourceContext,
    SparkStreamlet,
    SparkStreamletLogic,
    SpoutOutput,
    SpoutTransaction,
)
from streamlets.ingress.triggerers.files import FileVersion, matching_files

ORDER = "id bigint not null, product string, price double"


def orders(file: Path) -> list[dict[str, Any]]:
    """Return the records of a file."""
    with file.open(newline="", encoding="utf-8") as text:
        return [{**row, "id": int(row["id"]), "price": float(row["price"])} for row in csv.DictReader(text)]


class Pieces(BatchSource):
    """A batch source: each version of a file is a task, which Spark reads in parallel, and repeats if it fails."""

    out = AvroOutlet(schema=ORDER)
    folder = PathParameter("The directory of the files")

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None:
        self._folder: Path = config[self.folder.key]

    def discover(self, eat: Eat, event: str) -> None:
        for file in matching_files(self._folder / "*.csv"):
            version = FileVersion.of(file)
            eat(version.to_task(), key=version.key)

    def prepare(self, task: Any) -> None:
        self._version = FileVersion.from_task(task)
        self._rows = iter(orders(Path(self._version.path)))
        self._version.require_unchanged()

    def read_next(self) -> dict[str, Any] | None:
        return next(self._rows, None)


class Generator(GeneratorSpout):
    """A spout: each file is a transaction, and the name of the last one is where the next start continues."""

    out = AvroOutlet(schema=ORDER)
    folder = PathParameter("The directory of the files")

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        last = resume or ""
        while True:
            for file in sorted(out.value(self.folder).glob("*.csv")):
                if file.name > last:
                    yield out.transaction(orders(file), resume=file.name)
                    last = file.name
            if out.bounded or out.wait(10):
                return


class Spark(SparkStreamlet):
    """A streamlet with a source of Spark: the files are read by Spark itself, on all executors."""

    out = AvroOutlet(schema=ORDER)
    folder = PathParameter("The directory of the files")

    class Logic(SparkStreamletLogic["Spark"]):
        def build_streaming_queries(self) -> StreamingQuery:
            me = self.streamlet
            files = self.session.readStream.name("files").schema(ORDER)
            rows = files.option("header", True).csv(str(self.value(me.folder)))
            return self.write_stream(rows, me.out)
