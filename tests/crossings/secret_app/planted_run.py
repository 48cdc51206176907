"""Streamlets that have secrets in their settings, and fail with texts that contain them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter

from streamlets import (
    AvroInlet,
    AvroOutlet,
    BatchSource,
    GeneratorSpout,
    ObjectParameter,
    SparkStreamlet,
    SparkStreamletLogic,
    StringParameter,
)

MARKS = Path(__file__).parent / "marks"


def strings(value: Any) -> Iterator[str]:
    """Yield all strings in a value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield str(value)


def tell(value: Any) -> str:
    """Print all strings in a value and in the environment, as a careless author does, and return them as one."""
    text = "; ".join([*strings(value), *(told for told in os.environ.values() if "hunter" in told)])
    print(f"told: {text}", file=sys.stderr, flush=True)
    print(f"told: {text}", flush=True)
    return f"refused: {text}"


def first(name: str) -> bool:
    """Return whether this is the first call for a name, in all processes of the run."""
    with contextlib.suppress(FileExistsError):
        (MARKS / name).touch(exist_ok=False)
        return True
    return False


class Teller(SparkStreamlet):
    """Raises all strings of its parameters: where it is built, in a function, or in a batch."""

    rows = AvroInlet("in", schema="n long")
    where = StringParameter("Where it raises")
    options = ObjectParameter("Options", default={})
    password = StringParameter("Password", default="")
    address = StringParameter("Address", default="")
    login = StringParameter("Login, whose name does not mark a secret", default="")

    class Logic(SparkStreamletLogic["Teller"]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            where = self.value(me.where)
            told = dict(self.context.config)
            rows = self.read_stream(me.rows)
            if where == "build":
                raise ValueError("; ".join(strings(told)))
            if where == "function":
                return self.query("q", rows.select(_raising(told)("n")).writeStream.format("noop"))

            def batch(frame: Any, number: int) -> None:
                raise ValueError(tell(told))

            return self.query("q", rows.writeStream.foreachBatch(batch))


def _raising(told: Any) -> Any:
    @F.udf("string")
    def function(n: int) -> str:
        raise ValueError(tell(told))

    return function


class Pages(BatchSource):
    """Raises its secrets in its first discovery, and in one of its tasks, and replaces a file."""

    out = AvroOutlet(schema="n long")
    token = ObjectParameter("Where the token is")
    key = ObjectParameter("Where the key is")
    options = ObjectParameter("Options", default={})
    password = StringParameter("Password", default="")

    def open(self, config: Any, context: Any) -> None:
        self._file = context.path(config["key"]["file"])
        self._told = [context.secret(config["token"]), context.secret(config["key"]), *strings(dict(config["options"]))]
        self._told += [config["password"]]

    def discover(self, eat: Any, event: str) -> None:
        if first("discovery"):
            new = self._file.with_name("new")
            new.write_text(self._file.with_name("next").read_text())
            new.rename(self._file)
            raise ValueError("; ".join([*self._told, self._file.read_text()]))
        for number in range(3):
            eat({"page": number}, key=str(number))

    def prepare(self, task: Any) -> None:
        if task["page"] == 1:
            raise ValueError(tell(self._told))
        if task["page"] == 2:
            tell(self._told)
            os._exit(9)
        self._left = [{"n": task["page"]}]

    def read_next(self) -> Any:
        return self._left.pop() if self._left else None


class Bell:
    """A triggerer that raises its secrets: when it is created first, and in its thread."""

    def init(self, config: Any, context: Any) -> None:
        self._context = context
        self._told = [*strings(config), context.secret(config["first"]), context.secret(config["second"])]
        if first("bell"):
            raise ValueError(tell(self._told))

    def start(self, trigger: Any) -> None:
        def ring() -> None:
            if first("ring"):
                raise ValueError(tell(self._told))
            trigger(tell(self._told))

        self._context.run_in_thread(ring, "bell")

    def stop(self) -> None:
        """Do nothing."""


class Numbers(GeneratorSpout):
    """Raises all strings of its parameters, and then delivers a record."""

    out = AvroOutlet(schema="n long")
    options = ObjectParameter("Options", default={})
    password = StringParameter("Password", default="")

    def run(self, out: Any, resume: Any) -> Any:
        if first("generator"):
            raise ValueError("; ".join([*strings(out.value(self.options)), out.value(self.password)]))
        yield out.transaction([{"n": 7}], resume=1)


def save(rows: Any, batch: int, **options: Any) -> None:
    """Raise all strings of the options, as a function of the sink `function`."""
    raise ValueError(tell(options))


class Telling(DataSource):
    """A data source of Spark that raises its options."""

    @classmethod
    def name(cls) -> str:
        return "telling"

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        raise ValueError(tell(dict(self.options)))
