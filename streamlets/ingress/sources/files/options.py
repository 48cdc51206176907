"""The options that sources of files share."""

from __future__ import annotations

from blueprint.catalog import ParameterType, SourceOption

PATH = SourceOption(
    name="path",
    description="a directory, or a pattern such as `data/**/*.csv`, relative to the directory of the blueprint",
    required=True,
)
COMPRESSION = SourceOption(
    name="compression",
    description="the compression of the files; `auto` goes by the end of the name: `.gz`, `.bz2`, `.xz`",
    default="auto",
    choices=("auto", "none", "gzip", "bzip2", "xz"),
)
PARTITIONS = SourceOption(
    name="partitions",
    description="take columns of the schema from directories with names such as `day=2026-01-31`",
    type=ParameterType.BOOLEAN,
    default="true",
)
MISSING = SourceOption(
    name="missing-columns",
    description="what happens to a file that does not have a column of the schema: it fails, or the column is null",
    default="fail",
    choices=("fail", "null"),
)
FILE_COLUMN = SourceOption(
    name="file-column",
    description="the column that gets the path of the file",
    columns=True,
    column_types=("string",),
)
TIME_COLUMN = SourceOption(
    name="time-column",
    description="the column that gets the time at which the file was modified",
    columns=True,
    column_types=("timestamp",),
)
LINE_COLUMN = SourceOption(
    name="line-column",
    description="the column that gets the number of the line, or of the record in the file, from 1",
    columns=True,
    column_types=("int", "bigint"),
)
SETTLE = SourceOption(
    name="settle",
    description="how long a file must be unchanged to be read, so that files that are being written are left alone",
    type=ParameterType.DURATION,
    default="1 second",
)
LINE = SourceOption(
    name="column",
    description="the column that gets the line; default: the only one that no other option names",
    columns=True,
    column_types=("string",),
)
ENCODING = SourceOption(name="encoding", description="the encoding of the files, as Python names it", default="utf-8")
HEADER = SourceOption(
    name="header",
    description="whether the first line has the names of the columns; otherwise they are the schema's, in order",
    type=ParameterType.BOOLEAN,
    default="true",
)
SEPARATOR = SourceOption(name="separator", description="the character between values", default=",")
QUOTE = SourceOption(name="quote", description="the character around values that have separators", default='"')
NULL_VALUE = SourceOption(name="null-value", description="the string that is null; default: no characters")

COLUMNS = (PARTITIONS, FILE_COLUMN, TIME_COLUMN, LINE_COLUMN)
"""The options for columns that do not come from the content of a file."""
