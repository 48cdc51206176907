"""`Guard`: prevents a streamlet under test from writing outside of the kit.

It covers three ways to write data:

* streaming queries: paths of Spark's file formats are moved into the kit, other formats are rejected;
* Spark's batch writers and SQL commands, in functions for `foreachBatch` and while logic is built, are rejected unless
  they write into the kit;
* for Python code in the same places, an audit hook rejects writing, removing and renaming files outside of the kit,
  network connections and new processes.

Functions that run in Spark's worker processes (UDFs, `foreachPartition`) are not covered.
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

from streamlets.egress.base import SinkFiles
from streamlets.spark.patches import COMMAND, WRITING, WRITING_TABLES, patched
from streamlets.spark.stream_writer import FILES, facts, rows_of, with_arguments
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.outside_paths import OutsidePaths

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_HARMLESS = ("console", "memory", "noop", "")
"""Formats that write no data; "" is a function, which is guarded while it runs."""

_PATHS = (*FILES, "delta")


@dataclass(slots=True)
class Guard:
    """Prevents a streamlet from writing outside of the kit.

    Arguments:
        ref: the name of the streamlet.
        outside: moves paths outside of the kit into it.
        allow: the argument with which a test permits real paths, such as `real=True`.
        sinks: started queries that write files to a sink of the author, by name.
    """

    ref: str
    outside: OutsidePaths
    allow: str
    sinks: dict[str, SinkFiles] = field(default_factory=dict)
    _temporary: set[Path] = field(default_factory=set)

    @contextmanager
    def authors(self) -> Iterator[None]:
        """Guard the code that this thread runs, which is the author's."""
        _hook()
        before, _thread.guard = getattr(_thread, "guard", None), self
        try:
            yield
        finally:
            _thread.guard = before

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch Spark's classes while the streamlet is built and runs; the patches apply to the whole process."""
        from pyspark.sql import DataFrameWriter, SparkSession
        from pyspark.sql.merge import MergeIntoWriter
        from pyspark.sql.readwriter import DataFrameWriterV2
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        with ExitStack() as patches:
            patch = partial(patched, patches)
            patch(DataStreamWriter, "start", self._start)
            patch(DataStreamWriter, "toTable", self._forbidden)
            patch(DataStreamWriter, "foreach", self._forbidden)
            patch(DataStreamWriter, "foreachBatch", self._function)
            patch(DataFrameWriter, "format", _recording_format)
            for name in WRITING:
                patch(DataFrameWriter, name, self._batch_writer)
            for name in WRITING_TABLES:
                patch(DataFrameWriterV2, name, self._forbidden)
            patch(MergeIntoWriter, "merge", self._forbidden)
            patch(SparkSession, "sql", self._sql)
            yield

    def check(self, path: object, what: str = "writes") -> None:
        """Check that a path is in the kit.

        Arguments:
            path: the path; other values are ignored.
            what: the verb for the error message.

        Raises:
            TestkitError: it is outside.
        """
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str | os.PathLike) and not self._inside(Path(path)):
            raise self._error(f"{what} `{os.fspath(path)}`")

    def _inside(self, path: Path) -> bool:
        real = path.expanduser().resolve()
        if "__pycache__" in real.parts or real.is_relative_to("/dev"):
            return True
        return any(real.is_relative_to(root) for root in (self.outside.kit.resolve(), *self._temporary))

    def _error(self, what: str) -> TestkitError:
        return TestkitError(
            f"`{self.ref}` {what}, outside of the test, where production data may be. Take the path from a "
            f"writable `PathParameter` or `VolumeMount`, which the testkit moves into its own directory, or permit it "
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
        """Return the writer with its files in the kit.

        Raises:
            TestkitError: it does not write files, or a source deletes files that it has read.
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
            raise self._error(f"writes to `{known.format}`{f' at `{path}`' if path else ''}")
        root = self.outside.place(_path(path))
        options = {k: v for k, v in known.options.items() if k not in ("path", "checkpointlocation", "queryname")}
        query = known.options.get("queryname", "").removeprefix(f"{self.ref}.")
        self.sinks[query] = SinkFiles(root, known.format, options)
        return writer.option("path", str(root))

    def _check_sources(self, writer: DataStreamWriter) -> None:
        """Reject file sources that delete or move the files that they have read, because these are the real files."""
        leaves = rows_of(writer)._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - Spark has no public API for it
        for node in (leaves.apply(index) for index in range(leaves.size())):
            if node.nodeName() != "StreamingRelation":
                continue
            pairs, options = node.dataSource().options().iterator(), {}
            while pairs.hasNext():
                pair = pairs.next()
                options[str(pair.productElement(0)).lower()] = str(pair.productElement(1))
            path = options.get("path", "")
            if options.get("cleansource", "off").lower() != "off" and not self._inside(_path(path)):
                raise self._error(f"reads `{path}` with `cleanSource`, which deletes or moves the files it has read")

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
            if getattr(_thread, "guard", None) is not None:
                path = named.get("path", args[0] if args else None)
                if name in ("insertInto", "jdbc", "saveAsTable"):
                    raise self._error(f"calls `{name}`")
                format = named.get("format", args[1] if name == "save" and len(args) > 1 else _format(writer, name))
                if path is None and format not in _HARMLESS:
                    raise self._error(f"writes to `{format}`")
                if path is not None and not _is_local(path):
                    raise self._error(f"writes `{path}`")
                if path is not None:
                    self.check(_path(path))
            return method(writer, *args, **named)

        return call

    def _forbidden(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            raise self._error(f"calls `{name}`")

        return call

    def _sql(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(session: Any, query: Any, *args: Any, **named: Any) -> Any:
            command = COMMAND.match(query) if isinstance(query, str) else None
            if command and getattr(_thread, "guard", None) is not None:
                raise self._error(f"runs `{command[1].upper()}`")
            return method(session, query, *args, **named)

        return call

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Check an audit event of the author's code.

        Raises:
            TestkitError: it has an effect outside of the kit.
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
                raise self._error(f"connects to `{host}`")
            case (("subprocess.Popen" | "os.system" | "os.posix_spawn" | "os.exec"), (command, *_)):
                raise self._error(f"starts the program `{command}`")

    def _check_unless_temporary(self, path: Any) -> None:
        """Check a path unless the module `tempfile` creates it; that code may write to it from now on."""
        if _called_by(tempfile.__name__):
            self._temporary.add(Path(os.fsdecode(path)).resolve())
        else:
            self.check(path)


_thread = threading.local()


@cache
def _hook() -> None:
    """Add the audit hook once, because Python cannot remove it. It does nothing outside of `Guard.authors`."""

    def audit(event: str, args: tuple[Any, ...]) -> None:
        guard: Guard | None = getattr(_thread, "guard", None)
        if guard is None:
            return
        _thread.guard = None  # the check itself is not code of the author
        try:
            guard.audit(event, args)
        finally:
            _thread.guard = guard

    sys.addaudithook(audit)


def _called_by(module: str) -> bool:
    frame = sys._getframe(1)  # noqa: SLF001 - the only access to the callers
    for _ in range(8):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _recording_format(method: Any, _: str) -> Any:
    @wraps(method)
    def call(writer: Any, source: str) -> Any:
        writer.__dict__["_recorded_format"] = source
        return method(writer, source)

    return call


def _format(writer: Any, method: str) -> str:
    return str(writer.__dict__.get("_recorded_format", "parquet")) if method == "save" else method


def _path(location: str) -> Path:
    """Return the path of a location in Spark, which is a path or the URI of a file."""
    parts = urlsplit(location)
    return Path(unquote(parts.path) if parts.scheme == "file" else location)


def _is_local(location: str) -> bool:
    return urlsplit(location).scheme in ("", "file")


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
