"""How an outlet's `partition_by` lays out the files of a table: its columns, and a file's values in the log."""

from __future__ import annotations

import datetime
from decimal import Decimal

from blueprint.avro.model import Contract


def layout(contract: Contract, partition_by: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that lay out the files; expressions over columns say nothing to a Delta table."""
    names = {field.name.lower(): field.name for field in contract.record.fields}
    return tuple(names[text.lower()] for text in partition_by if text.lower() in names)


def partition_value(value: object) -> str | None:
    """A record's value as the Delta protocol writes the values of partitions (its section "Partition Value
    Serialization"); an empty string is null there."""
    match value:
        case None | "":
            return None
        case bool():
            return "true" if value else "false"
        case datetime.datetime():
            return f"{value:%Y-%m-%d %H:%M:%S.%f}"
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.decode("utf-8", errors="replace")
        case _:
            return str(value)
