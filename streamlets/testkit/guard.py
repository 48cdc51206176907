"""While a streamlet is under test nothing outside of the kit is written: paths are moved into it, the rest is refused.

Three ways lead outside, and each has a watch:

* streaming queries: a path of Spark's file formats is moved into the kit, other formats are refused;
* Spark's batch writers and SQL commands, in functions given to `foreachBatch` and while logic is built;
* Python there: an audit hook sees files opened for writing, removed and renamed, connections and new processes.

Functions that Spark's workers run (UDFs, `foreachPartition`) are other processes, and are not seen.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from streamlets.spark.patches import COMMAND, WRITING, WRITING_TABLES, patched
from streamlets.spark.stream_writer import FILES, facts, rows_of, with_arguments
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.outside_paths import Outside

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_HARMLESS = ("console", "memory", "noop", "")
"""Formats that write nowhere; "" is a function, which is watched while it runs."""

_PATHS = (*FILES, "delta")


@dataclass(frozen=True, slots=True)
class FileSink:
    """A query of the author's own that writes files in the kit: where, and how they are read."""

    root: Path
    format: str
    options: dict[str, str]


@dataclass(slots=True)
class Guard:
    """Keeps one streamlet inside the kit.

    Arguments:
        ref: the streamlet's name.
        outside: where the world outside is.
        allow: what the test writes to let the streamlet out, such as `real=True`.
        sinks: its own queries that write files, by name, once they have started.
    """

    ref: str
    outside: Outside
    allow: str
    sinks: dict[str, FileSink] = field(default_factory=dict)
    _temporary: set[Path] = field(default_factory=set)

    @contextmanager
    def authors(self) -> Iterator[None]:
        """While this thread runs the author's code in the driver."""
        _hook()
        before, _author.guard = getattr(_author, "guard", None), self
        try:
            yield
        finally:
            _author.guard = before

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch Spark's classes while the streamlet is built and runs; the process has one of each."""
        from pyspark.sql import DataFrameWriter, SparkSession
        from pyspark.sql.merge import MergeIntoWriter
        from pyspark.sql.readwriter import DataFrameWriterV2
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        with ExitStack() as patches:
            patch = partial(patched, patches)
            patch(DataStreamWriter, "start", self._start)
            patch(DataStreamWriter, "toTable", self._refusing)
            patch(DataStreamWriter, "foreach", self._refusing)
            patch(DataStreamWriter, "foreachBatch", self._function)
            patch(DataFrameWriter, "format", _noting_format)
            for name in WRITING:
                patch(DataFrameWriter, name, self._batch_writer)
            for name in WRITING_TABLES:
                patch(DataFrameWriterV2, name, self._refusing)
            patch(MergeIntoWriter, "merge", self._refusing)
            patch(SparkSession, "sql", self._sql)
            yield

    def check(self, path: object, what: str = "writes") -> None:
        """Refuse a path outside of the kit.

        Raises:
            TestkitError: it is outside.
        """
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str | os.PathLike) and not self._inside(Path(path)):
            raise self._refused(f"{what} `{os.fspath(path)}`")

    def _inside(self, path: Path) -> bool:
        real = path.expanduser().resolve()
        if "__pycache__" in real.parts or real.is_relative_to("/dev"):
            return True
        return any(real.is_relative_to(root) for root in (self.outside.kit.resolve(), *self._temporary))

    def _refused(self, what: str) -> TestkitError:
        return TestkitError(
            f"`{self.ref}` {what}, outside of the test, where production data may be. Take the path from a "
            f"writable `PathParameter` or `VolumeMount`, which the testkit moves into its own directory, or allow it "
            f"with `{self.allow}`"
        )

    def _start(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(writer: DataStreamWriter, *args: Any, **named: Any) -> StreamingQuery:
            writer = self._contained(with_arguments(writer, name, args, named))
            query = named.get("queryName", args[4] if len(args) > 4 else None)
            return method(writer.queryName(query) if query else writer)  # type: ignore[no-any-return]

        return call

    def _contained(self, writer: DataStreamWriter) -> DataStreamWriter:
        """The writer with its files in the kit.

        Raises:
            TestkitError: it writes to something else outside, or its source deletes what it has read.
        """
        self._check_sources(writer)
        known = facts(writer)
        checkpoint = known.options.get("checkpointlocation")
        if checkpoint is not None:
            writer = writer.option("checkpointLocation", str(self.outside.place(_path(checkpoint))))
        if known.format in _HARMLESS:
            return writer
        path = known.options.get("path")
        if known.format not in _PATHS or path is None or not _is_local(path):
            raise self._refused(f"writes to `{known.format}`{f' at `{path}`' if path else ''}")
        root = self.outside.place(_path(path))
        options = {k: v for k, v in known.options.items() if k not in ("path", "checkpointlocation", "queryname")}
        self.sinks[known.options.get("queryname", "").removeprefix(f"{self.ref}.")] = FileSink(
            root, known.format, options
        )
        return writer.option("path", str(root))

    def _check_sources(self, writer: DataStreamWriter) -> None:
        """A file source that deletes or moves what it has read does so with the real files."""
        leaves = rows_of(writer)._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - no public way
        for node in (leaves.apply(index) for index in range(leaves.size())):
            if node.nodeName() != "StreamingRelation":
                continue
            pairs, options = node.dataSource().options().iterator(), {}
            while pairs.hasNext():
                pair = pairs.next()
                options[str(pair.productElement(0)).lower()] = str(pair.productElement(1))
            path = options.get("path", "")
            if options.get("cleansource", "off").lower() != "off" and not self._inside(_path(path)):
                raise self._refused(f"reads `{path}` with `cleanSource`, which deletes or moves the files it has read")

    def _function(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(writer: DataStreamWriter, func: Callable[[Any, int], None]) -> DataStreamWriter:
            if type(func).__module__.startswith("streamlets."):
                return method(writer, func)  # type: ignore[no-any-return]

            def guarded(rows: Any, batch: int) -> None:
                with self.authors():
                    func(rows, batch)

            return method(writer, guarded)  # type: ignore[no-any-return]

        return call

    def _batch_writer(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(writer: Any, *args: Any, **named: Any) -> Any:
            if getattr(_author, "guard", None) is not None:
                path = named.get("path", args[0] if args else None)
                if name in ("insertInto", "jdbc", "saveAsTable"):
                    raise self._refused(f"calls `{name}`")
                format = named.get("format", args[1] if name == "save" and len(args) > 1 else _format(writer, name))
                if path is None and format not in _HARMLESS:
                    raise self._refused(f"writes to `{format}`")
                if path is not None and not _is_local(path):
                    raise self._refused(f"writes `{path}`")
                if path is not None:
                    self.check(_path(path))
            return method(writer, *args, **named)

        return call

    def _refusing(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            raise self._refused(f"calls `{name}`")

        return call

    def _sql(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(session: Any, query: Any, *args: Any, **named: Any) -> Any:
            command = COMMAND.match(query) if isinstance(query, str) else None
            if command and getattr(_author, "guard", None) is not None:
                raise self._refused(f"runs `{command[1].upper()}`")
            return method(session, query, *args, **named)

        return call

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Look at what Python is about to do in the author's code.

        Raises:
            TestkitError: it would leave the kit.
        """
        match event, args:
            case "open", (path, _, int(flags)) if flags & (os.O_WRONLY | os.O_RDWR) and not isinstance(path, int):
                self._check_unless_temporary(path)
            case "os.mkdir", (path, _, _):
                self._check_unless_temporary(path)
            case (("os.remove" | "os.rmdir" | "shutil.rmtree"), (path, *_, -1 | None)):
                self.check(path, "removes")
            case "os.rename", (source, target, _, _):
                self.check(source, "moves")
                self.check(target)
            case (("os.link" | "os.symlink"), (_, target, *_)):
                self.check(target)
            case "os.truncate", (str() | bytes() | os.PathLike() as path, _):
                self.check(path)
            case "sqlite3.connect", (database,) if str(database) not in ("", ":memory:"):
                self.check(database)
            case (("socket.connect" | "socket.sendto"), (_, (host, *_))) if not _is_loopback(str(host)):
                raise self._refused(f"connects to `{host}`")
            case (("subprocess.Popen" | "os.system" | "os.posix_spawn" | "os.exec"), (command, *_)):
                raise self._refused(f"starts the program `{command}`")

    def _check_unless_temporary(self, path: Any) -> None:
        """Files that `tempfile` makes are nobody else's."""
        if _called_by(tempfile.__name__):
            self._temporary.add(Path(os.fsdecode(path)).resolve())
        else:
            self.check(path)


_author = threading.local()


@cache
def _hook() -> None:
    """Add the audit hook, once: Python has no way to remove it. It does nothing outside of `Guard.authors`."""

    def audit(event: str, args: tuple[Any, ...]) -> None:
        guard: Guard | None = getattr(_author, "guard", None)
        if guard is None:
            return
        _author.guard = None  # what is done to find out is not the author's
        try:
            guard.audit(event, args)
        finally:
            _author.guard = guard

    sys.addaudithook(audit)


def _called_by(module: str) -> bool:
    frame = sys._getframe(1)  # noqa: SLF001 - the only way to the callers
    for _ in range(8):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _noting_format(method: Any, _: str) -> Any:
    @wraps(method)
    def call(writer: Any, source: str) -> Any:
        writer.__dict__["_noted_format"] = source
        return method(writer, source)

    return call


def _format(writer: Any, called: str) -> str:
    return str(writer.__dict__.get("_noted_format", "parquet")) if called == "save" else called


def _path(location: str) -> Path:
    """The path of a location as Spark takes it: a path, or a URI of a file."""
    parts = urlsplit(location)
    return Path(unquote(parts.path) if parts.scheme == "file" else location)


def _is_local(location: str) -> bool:
    return urlsplit(location).scheme in ("", "file")


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
