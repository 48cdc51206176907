"""The partition columns of a table, and the values of a file's partition in the log."""

from __future__ import annotations

import datetime
from decimal import Decimal

from blueprint.avro.model import Contract


def layout(contract: Contract, partition_by: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a `partition_by`. Expressions are omitted: Delta tables are partitioned by columns only."""
    names = {field.name.lower(): field.name for field in contract.record.fields}
    return tuple(names[text.lower()] for text in partition_by if text.lower() in names)


def partition_value(value: object) -> str | None:
    """Return a value in the form of the Delta protocol, section "Partition Value Serialization": "" becomes null."""
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
