"""The databases of the sink and of the source `jdbc`, each with its own Python driver."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds


_LASTING = {"ProgrammingError", "DataError", "IntegrityError", "NotSupportedError"}
"""The classes of the errors of Python's database drivers (PEP 249) that are about statements and values."""


class UrlError(ValueError):
    """The URL of a database is invalid; the message does not have its secrets."""


@dataclass(frozen=True, slots=True)
class Database(ABC):
    """A database.

    Arguments:
        location: what follows the scheme in its URL.
        user: the name of the user; "" if the URL has it, or none is needed.
        password: the password; "" likewise.
        directory: the directory in which the path of a file starts.

    Attributes:
        package: the Python package of its driver.
        install: the argument of `pip install` that installs the package.
        mark: the placeholder of a parameter in SQL.
        types: the type of a column, by the type of Arrow; by default the names that most databases share.
    """

    location: str
    user: str = ""
    password: str = ""
    directory: Path = Path()

    package: ClassVar[str]
    install: ClassVar[str] = ""
    mark: ClassVar[str] = "?"
    types: ClassVar[dict[str, str]] = {
        "int8": "SMALLINT",
        "int16": "SMALLINT",
        "int32": "INTEGER",
        "int64": "BIGINT",
        "bool": "BOOLEAN",
        "float": "REAL",
        "double": "DOUBLE PRECISION",
        "string": "VARCHAR",
        "date32[day]": "DATE",
        "decimal": "DECIMAL({precision}, {scale})",
        "timestamp": "TIMESTAMP",
        "timestamp with zone": "TIMESTAMPTZ",
    }

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Connect, begin a transaction, and provide its cursor; commit it unless there is an exception."""
        with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(self._begin)
            try:
                yield cursor
            except BaseException:
                with suppress(self.errors):  # a database may have rolled back by itself, such as after a full disk
                    cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Connect without the right to write, and provide the cursor of a transaction, which sees one state."""
        with closing(self._connect_reading()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(self._begin_reading)
            yield cursor

    @property
    @abstractmethod
    def errors(self) -> type[Exception]:
        """The base class of the driver's errors."""

    def is_lasting(self, error: Exception) -> bool:
        """Return whether an error of the driver is about the records or the table, so that another attempt fails, too.

        A missing row of a foreign key is not: another query may insert it meanwhile.

        Arguments:
            error: an instance of `errors`.
        """
        names = {kind.__name__ for kind in type(error).__mro__}
        return bool(names & _LASTING) and "foreign key" not in str(error).lower()

    @property
    def place(self) -> str:
        """The file that stores the database, for messages; "" for a server."""
        return ""

    @abstractmethod
    def same_column(self, first: str, second: str) -> bool:
        """Return whether two names refer to the same column."""

    @abstractmethod
    def load(self, cursor: Any, table: str, records: ds.Dataset) -> None:
        """Load records into a table in bulk.

        Arguments:
            cursor: a cursor of the transaction.
            table: the table and the names of its columns, in the order of the records, as SQL.
            records: the records.
        """

    def column_type(self, type: pa.DataType) -> str:
        """Return the type of a column for values of a type of Arrow."""
        import pyarrow as pa

        if pa.types.is_decimal(type):
            return self.types["decimal"].format(precision=type.precision, scale=type.scale)
        if pa.types.is_timestamp(type):
            return self.types["timestamp" if type.tz is None else "timestamp with zone"]
        return self.types[str(type)]

    @abstractmethod
    def _connect(self) -> Any:
        """Return a connection in which each statement is its own transaction unless one was begun."""

    @abstractmethod
    def _connect_reading(self) -> Any:
        """Return a connection that only reads."""

    @property
    def _begin(self) -> str:
        return "BEGIN"

    @property
    def _begin_reading(self) -> str:
        return "BEGIN"


class FileDatabase(Database):
    """A database in a file, whose names of columns may differ in case."""

    __slots__ = ()

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.directory.absolute() / Path(self.location.removeprefix("//")).expanduser())

    def same_column(self, first: str, second: str) -> bool:
        """Return whether two names are equal without regard to case."""
        return first.lower() == second.lower()

    def _connect(self) -> Any:
        Path(self.place).parent.mkdir(parents=True, exist_ok=True)
        return self._open()

    @abstractmethod
    def _open(self) -> Any:
        """Return a connection to the file, whose directory exists."""


class SQLite(FileDatabase):
    """SQLite; it has no types for dates, times and decimals, which become strings."""

    __slots__ = ()
    package = "sqlite3"
    types: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("int8", "int16", "int32", "int64", "bool"), "INTEGER"),
        **dict.fromkeys(("float", "double"), "REAL"),
        **dict.fromkeys(("string", "date32[day]", "decimal", "timestamp", "timestamp with zone"), "TEXT"),
    }

    @property
    def errors(self) -> type[Exception]:
        """The base class of the driver's errors."""
        import sqlite3

        return sqlite3.Error

    def load(self, cursor: Any, table: str, records: ds.Dataset) -> None:
        """Insert the records by one prepared statement."""
        import pyarrow as pa

        def values(column: pa.Array) -> list[object]:
            native = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            native = native or pa.types.is_boolean(column.type) or pa.types.is_string(column.type)
            return (column if native else column.cast(pa.string())).to_pylist()  # type: ignore[no-any-return]

        marks = ", ".join("?" * len(records.schema))
        for batch in records.to_batches():
            rows = zip(*map(values, batch.columns), strict=True)
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def is_lasting(self, error: Exception) -> bool:
        """Return whether an error is lasting. The class of most of them is `OperationalError`; their codes differ."""
        import sqlite3

        code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # without the details
        return code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH) or Database.is_lasting(self, error)

    def _open(self) -> Any:
        import sqlite3

        return sqlite3.connect(self.place, isolation_level=None, timeout=60.0)

    def _connect_reading(self) -> Any:
        import sqlite3

        return sqlite3.connect(f"{Path(self.place).as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=60.0)

    @property
    def _begin(self) -> str:
        return "BEGIN IMMEDIATE"  # a transaction that writes later fails if another has written meanwhile


class DuckDB(FileDatabase):
    """DuckDB; only one process can write a file at a time, so the connection is closed after each batch."""

    __slots__ = ()
    package = "duckdb"
    install = "streamlets[duckdb]"

    @property
    def errors(self) -> type[Exception]:
        """The base class of the driver's errors."""
        import duckdb

        base: type[Exception] = duckdb.Error
        return base

    def load(self, cursor: Any, table: str, records: ds.Dataset) -> None:
        """Let DuckDB read the records from Arrow."""
        cursor.register("streamlets_records", records.scanner().to_reader())
        cursor.execute(f"INSERT INTO {table} SELECT * FROM streamlets_records")
        cursor.unregister("streamlets_records")

    def _open(self) -> Any:
        import duckdb

        return duckdb.connect(self.place)

    def _connect_reading(self) -> Any:
        import duckdb

        return duckdb.connect(self.place, read_only=True)


class PostgreSQL(Database):
    """PostgreSQL."""

    __slots__ = ()
    package = "psycopg"
    install = "streamlets[postgresql]"
    mark = "%s"

    @property
    def errors(self) -> type[Exception]:
        """The base class of the driver's errors."""
        import psycopg

        base: type[Exception] = psycopg.Error
        return base

    def load(self, cursor: Any, table: str, records: ds.Dataset) -> None:
        """Copy the records as CSV, in which a string has quotes and null has none."""
        from pyarrow import csv

        options = csv.WriteOptions(include_header=False, quoting_style="needed")
        with cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
            for batch in records.to_batches():
                if batch.num_rows:
                    text = io.BytesIO()
                    csv.write_csv(batch, text, options)
                    copy.write(text.getvalue())

    def same_column(self, first: str, second: str) -> bool:
        """Return whether two names are equal."""
        return first == second

    def _connect(self) -> Any:
        import psycopg

        secrets = {name: value for name, value in (("user", self.user), ("password", self.password)) if value}
        return psycopg.connect(f"postgresql:{self.location}", autocommit=True, **secrets)

    def _connect_reading(self) -> Any:
        return self._connect()

    @property
    def _begin_reading(self) -> str:
        return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


_DATABASES: dict[str, Callable[..., Database]] = {"sqlite": SQLite, "duckdb": DuckDB, "postgresql": PostgreSQL}


def database(url: str, user: str = "", password: str = "", directory: Path = Path()) -> Database:
    """Return the database at a URL, such as `postgresql://host/name`, with or without `jdbc:` before it.

    Arguments:
        url: the URL.
        user: the name of the user, if the URL does not have it.
        password: the password, if the URL does not have it.
        directory: the directory in which the path of a file starts.

    Raises:
        UrlError: the URL has no scheme, or its scheme is not one of a known database.
    """
    scheme, colon, location = url.removeprefix("jdbc:").partition(":")
    if not colon or not location:
        raise UrlError("the URL of a database must have a scheme and a location, such as `postgresql://host/name`")
    if scheme not in _DATABASES:
        raise UrlError(f"the URL has the scheme `{scheme}`; use `sqlite`, `duckdb` or `postgresql`")
    return _DATABASES[scheme](location, user, password, directory)


def quoted(name: str) -> str:
    """Return a name, which may have a schema and a dot before it, as SQL."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def listed(names: Sequence[str]) -> str:
    """Return the names of columns as a list in SQL."""
    return ", ".join(map(quoted_column, names))


def quoted_column(name: str) -> str:
    """Return the name of a column as SQL."""
    return '"' + name.replace('"', '""') + '"'
