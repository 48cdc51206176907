"""What each sink can do, as data: one entry per sink, read by `streamlets.Sink`, by verification and by the docs."""

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
"""The value of an option; None where there is none."""


@dataclass(frozen=True, slots=True)
class SinkOption:
    """An option of a sink.

    Arguments:
        name: as the blueprint writes it below `options`.
        description: what it is for, one clause.
        type: of its value.
        default: what holds when it is left out; None when the sink's format decides.
        required: whether it must be given.
        choices: the values it may have; () when any of the type will do.
        spark: Spark's name of it when it is handed on to Spark's writer, "" when it is ours.
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
    """A sink as verification and documentation know it.

    Arguments:
        name: as `to` says it.
        description: what it writes, one sentence.
        output_modes: of the queries it takes.
        partitioning: whether `partition-by` lays out its records.
        nested: whether it takes columns with parts (records, arrays, maps).
        guarantee: what a batch that is run again after a failure does.
        options: in the order in which documentation lists them.
    """

    name: str
    description: str
    output_modes: tuple[OutputMode, ...]
    partitioning: bool
    nested: bool
    guarantee: Literal["replaces itself", "is written again"]
    options: tuple[SinkOption, ...]

    def problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """What is wrong with the options; paths begin with the option's name. A misspelt one is not missing, too."""
        known = {option.name: option for option in self.options}
        strays = [name for name in options if name not in known]
        for name in strays:
            close = did_you_mean(name, known) or (f"its options are {listing(known)}",)
            yield ParameterProblem((name,), f"the sink `{self.name}` has no option `{name}`", close, "key")
        for option in self.options:
            if option.name in options:
                yield from _problem(self.name, option, options[option.name])
            elif option.required and not near(option.name, strays):
                message = f"the sink `{self.name}` needs the option `{option.name}`: {option.description}"
                remedy = f"write `options {{ {option.name} = ... }}` beside `to`"
                yield ParameterProblem((option.name,), message, (remedy,))
        if {"compact", "max-records-per-file"} <= {*options} & {*known}:
            message = f"the sink `{self.name}` cannot merge files whose number of records is limited"
            yield ParameterProblem(("compact",), message, ("remove `compact` or `max-records-per-file`",), "key")

    def settings(self, options: Mapping[str, object]) -> dict[str, SinkValue]:
        """The value of each option, defaults filled in; `problems` must have found nothing."""
        return {o.name: _typed(o, options[o.name]) if o.name in options else o.default for o in self.options}


def _problem(sink: str, option: SinkOption, value: object) -> Iterator[ParameterProblem]:
    typed = _typed(option, value)
    if typed is None:
        kinds = {str: "a text", int: "a whole number", bool: "true or false", Duration: "a duration such as `1 hour`"}
        kind = kinds[option.type]
        given = "an object" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else f"`{value}`"
        message = f"the option `{option.name}` of the sink `{sink}` must be {kind}, not {given}"
        yield ParameterProblem((option.name,), message)
    elif option.choices and typed not in option.choices:
        message = f"the option `{option.name}` of the sink `{sink}` cannot be `{value}`"
        help = (*did_you_mean(str(value), option.choices), f"it is {alternatives(option.choices)}")
        yield ParameterProblem((option.name,), message, help)


def _typed(option: SinkOption, value: object) -> SinkValue:
    """The value in the option's type; None when it cannot be (settings may hold numbers as text)."""
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
            SinkOption(
                "path", "the directory of the files; a relative one starts beside the file that sets it", required=True
            ),
            SinkOption(
                "existing",
                "what becomes of the files that this sink wrote before its checkpoint was begun anew",
                default="fail",
                choices=("fail", "replace", "append"),
            ),
            SinkOption(
                "compact", "merge small files once the oldest is as old, into files of at most 128 MiB", Duration
            ),
            SinkOption("max-records-per-file", "a limit to the size of files", int, spark="maxRecordsPerFile"),
            *options,
        ),
    )


def _compression(*choices: str) -> SinkOption:
    return SinkOption("compression", "the codec", choices=choices, spark="compression")


_TIMES = (
    SinkOption("date-format", "how dates are written", spark="dateFormat"),
    SinkOption("timestamp-format", "how timestamps are written", spark="timestampFormat"),
)
_TEXT = ("none", "gzip", "bzip2", "deflate")
_TERMINAL = (
    SinkOption("rows", "how many rows of a batch are shown", int, default=20),
    SinkOption("title", "what stands above them; left out, the streamlet's name and the batch"),
)

SINKS: Mapping[str, SinkTraits] = {
    traits.name: traits
    for traits in (
        _files("parquet", "A folder of Parquet files.", _compression("none", "snappy", "gzip", "lz4_raw", "zstd")),
        _files("orc", "A folder of ORC files.", _compression("none", "snappy", "zlib", "lz4", "zstd")),
        _files(
            "json",
            "A folder of files with one JSON object a line.",
            _compression(*_TEXT),
            SinkOption("ignore-null-fields", "leave fields without a value out", bool, spark="ignoreNullFields"),
            *_TIMES,
        ),
        _files(
            "csv",
            "A folder of CSV files.",
            _compression(*_TEXT),
            SinkOption("header", "begin each file with the columns' names", bool, default=True, spark="header"),
            SinkOption("separator", "what stands between values", default=",", spark="sep"),
            SinkOption("null-value", "how null is written", spark="nullValue"),
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
