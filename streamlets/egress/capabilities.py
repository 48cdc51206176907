"""The capabilities of each sink, as data for `streamlets.Sink`, verification and documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from blueprint.catalog import ParameterProblem
from blueprint.quantities import Duration, QuantityError, boolean, duration
from blueprint.spelling import alternatives, did_you_mean, listing, near

OutputMode = Literal["append", "update", "complete"]
SinkValue = str | int | bool | Duration | None
"""The value of an option; None if it has none."""


@dataclass(frozen=True, slots=True)
class SinkOption:
    """An option of a sink.

    Arguments:
        name: its key below `options` in the blueprint.
        description: its purpose, in one clause.
        type: the type of its value.
        default: its value if it is omitted; None if the format of the sink decides.
        required: whether it must be set.
        choices: the allowed values; () allows every value of the type.
        spark: the name of the option of Spark's writer that it sets; "" if it sets none.
    """

    name: str
    description: str
    type: type[str] | type[int] | type[bool] | type[Duration] = str
    default: str | int | bool | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    spark: str = ""


@dataclass(frozen=True, slots=True)
class SinkTraits:
    """A sink, for verification and documentation.

    Arguments:
        name: the value of `to` that selects it.
        description: what it writes, in one sentence.
        output_modes: the output modes of queries that it accepts.
        partitioning: whether it supports `partition-by`.
        nested: whether it accepts columns of records, arrays and maps.
        guarantee: what happens when a batch is run again after a failure.
        options: its options, in the order of the documentation.
    """

    name: str
    description: str
    output_modes: tuple[OutputMode, ...]
    partitioning: bool
    nested: bool
    guarantee: Literal["replaces itself", "is written again"]
    options: tuple[SinkOption, ...]

    def problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield the problems of options; the path of a problem begins with the name of the option.

        A required option is not reported as missing if its name is misspelt: the misspelt name is reported.
        """
        known = {option.name: option for option in self.options}
        unknown = [name for name in options if name not in known]
        for name in unknown:
            close = did_you_mean(name, known) or (f"its options are {listing(known)}",)
            yield ParameterProblem((name,), f"the sink `{self.name}` has no option `{name}`", close, "key")
        for option in self.options:
            if option.name in options:
                yield from _problem(self.name, option, options[option.name])
            elif option.required and not near(option.name, unknown):
                message = f"the sink `{self.name}` requires the option `{option.name}`: {option.description}"
                remedy = f"add `options {{ {option.name} = ... }}` next to `to`"
                yield ParameterProblem((option.name,), message, (remedy,))
        if {"compact", "max-records-per-file"} <= {*options} & {*known}:
            message = "`compact` and `max-records-per-file` cannot be combined"
            yield ParameterProblem(("compact",), message, ("remove `compact` or `max-records-per-file`",), "key")

    def settings(self, options: Mapping[str, object]) -> dict[str, SinkValue]:
        """Return the value of each option, with defaults; the options must not have `problems`."""
        return {o.name: _typed(o, options[o.name]) if o.name in options else o.default for o in self.options}


def _problem(sink: str, option: SinkOption, value: object) -> Iterator[ParameterProblem]:
    typed = _typed(option, value)
    if typed is None:
        kinds = {
            str: "a string",
            int: "a non-negative integer",
            bool: "`true` or `false`",
            Duration: "a duration such as `1 hour`",
        }
        kind = kinds[option.type]
        actual = "an object" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else f"`{value}`"
        message = f"the option `{option.name}` of the sink `{sink}` must be {kind}, found {actual}"
        yield ParameterProblem((option.name,), message)
    elif option.choices and typed not in option.choices:
        expected = alternatives(option.choices)
        message = f"the option `{option.name}` of the sink `{sink}` must be {expected}, found `{value}`"
        yield ParameterProblem((option.name,), message, did_you_mean(str(value), option.choices))


def _typed(option: SinkOption, value: object) -> SinkValue:
    """Return the value in the option's type, None if it is not valid. Settings may have numbers as strings."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, (Mapping, list, tuple)) or value is None:
        return None
    if option.type is bool:
        return boolean(text.lower())
    if option.type is int:
        return int(text) if text.isdecimal() else None
    if option.type is Duration:
        with suppress(QuantityError):
            return duration(text)
        return None
    return text


def _files(name: str, description: str, *options: SinkOption, nested: bool = True) -> SinkTraits:
    return SinkTraits(
        name=name,
        description=description,
        output_modes=("append", "update", "complete"),
        partitioning=True,
        nested=nested,
        guarantee="replaces itself",
        options=(
            SinkOption("path", "the directory of the files, relative to the file that sets the option", required=True),
            SinkOption(
                "existing",
                "what happens to files that this sink wrote with an earlier checkpoint",
                default="fail",
                choices=("fail", "replace", "append"),
            ),
            SinkOption("compact", "merge small files when the oldest of them reaches this age", Duration),
            SinkOption(
                "max-records-per-file", "the maximum number of records in a file", int, spark="maxRecordsPerFile"
            ),
            *options,
        ),
    )


def _compression(*choices: str) -> SinkOption:
    return SinkOption("compression", "the compression codec", choices=choices, spark="compression")


_TIMES = (
    SinkOption("date-format", "the pattern of dates", spark="dateFormat"),
    SinkOption("timestamp-format", "the pattern of timestamps", spark="timestampFormat"),
)
_TEXT = ("none", "gzip", "bzip2", "deflate")
_TERMINAL = (
    SinkOption("rows", "the number of rows of a batch to show", int, default=20),
    SinkOption("title", "the title of the table; default: the name of the streamlet and the batch"),
)

SINKS: Mapping[str, SinkTraits] = {
    traits.name: traits
    for traits in (
        _files("parquet", "A directory of Parquet files.", _compression("none", "snappy", "gzip", "lz4_raw", "zstd")),
        _files("orc", "A directory of ORC files.", _compression("none", "snappy", "zlib", "lz4", "zstd")),
        _files(
            "json",
            "A directory of files with one JSON object per line.",
            _compression(*_TEXT),
            SinkOption("ignore-null-fields", "omit fields without a value", bool, spark="ignoreNullFields"),
            *_TIMES,
        ),
        _files(
            "csv",
            "A directory of CSV files.",
            _compression(*_TEXT),
            SinkOption("header", "begin each file with the names of the columns", bool, default=True, spark="header"),
            SinkOption("separator", "the character between values", default=",", spark="sep"),
            SinkOption("null-value", "the string for null", spark="nullValue"),
            *_TIMES,
            nested=False,
        ),
        SinkTraits(
            name="terminal",
            description="The first rows of each batch as a table on standard output.",
            output_modes=("append", "update", "complete"),
            partitioning=False,
            nested=True,
            guarantee="is written again",
            options=_TERMINAL,
        ),
    )
}
