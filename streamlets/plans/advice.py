"""Advice for common operations that Spark rejects: the reason in the author's terms, and what to write instead."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from traceback import walk_tb
from types import FrameType
from typing import TYPE_CHECKING

from blueprint.spelling import alternatives, did_you_mean, listing

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

_SELF_JOIN = "_LEGACY_ERROR_TEMP_1182"
_ORDINALS = {"first": 1, "second": 2, "third": 3}
_BY_NAME = "`union` matches columns by position: use `unionByName` to match them by name"


@dataclass(frozen=True, slots=True)
class Advice:
    """An error of Spark in terms of the author's columns and tables.

    Arguments:
        name: the name in the author's code to which the error refers; "" if it refers to the call.
    """

    headline: str
    name: str = ""
    causes: Sequence[str] = ()
    help: Sequence[str] = ()


def advice(error: PySparkException) -> Advice | None:
    """Return the advice for an error; None if there is only Spark's own message."""
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    if condition == "AMBIGUOUS_REFERENCE":
        return _ambiguous(_parts(parameters["name"])[-1], parameters["referenceNames"])
    if condition == _SELF_JOIN:
        return _self_join(parameters["ambiguousAttrs"])
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        return _unknown_table(error, _parts(parameters["relationName"]))
    if condition == "NUM_COLUMNS_MISMATCH":
        return _other_columns(error, parameters)
    if condition == "INCOMPATIBLE_COLUMN_TYPE":
        return _other_types(error, parameters)
    return None


def union_by_name(error: BaseException) -> tuple[str, ...]:
    """Return the help for a column that only one side of a `unionByName` has; () for other operations."""
    operation, sides = _operation(error)
    if operation != "unionByName" or not sides:
        return ()
    return ("set missing columns to null: `.unionByName(..., allowMissingColumns=True)`",)


def _ambiguous(name: str, references: str) -> Advice:
    candidates = [".".join(_parts(reference)) for reference in references.strip("[]").split(", ")]
    headline = f"the column `{name}` is ambiguous"
    if len(set(candidates)) == len(candidates):
        return Advice(headline, name, help=(f"write {alternatives(candidates)}",))
    return Advice(
        headline, name, (f"{len(candidates)} columns of the rows have this name",),
        (
            f'if both sides are joined on `{name}`, join on its name, which keeps one column: `.join(other, "{name}")`',
            f'otherwise drop or rename one before the join, or give each side an alias: `.alias("a")`, "a.{name}"',
        ),
    )  # fmt: skip


def _self_join(attributes: str) -> Advice:
    names = sorted(attribute.strip().partition("#")[0] for attribute in attributes.split(","))  # Spark has no order
    subject = f"column {listing(names)} is" if len(names) == 1 else f"columns {listing(names)} are"
    return Advice(
        f"the {subject} ambiguous", names[0],
        ("both sides of a join come from the same DataFrame, and the column may be of either side",),
        (f'give each side an alias before the join, `.alias("a")`, and write F.col("a.{names[0]}")',),
    )  # fmt: skip


def _unknown_table(error: BaseException, parts: Sequence[str]) -> Advice:
    from pyspark.errors import PySparkException

    *database, table = parts
    session, known = _session(error), list[str]()
    with contextlib.suppress(PySparkException):  # the database may not exist either
        tables = session.catalog.listTables(".".join(database) or None) if session else []
        known = sorted({entry.name for entry in tables})
    help = did_you_mean(table, known) or ((f"the tables and views are {listing(known)}",) if known else ())
    create = f'create the view in this streamlet: `.createOrReplaceTempView("{table}")`'
    return Advice(f"there is no table or view `{'.'.join(parts)}`", table, help=help or (() if database else (create,)))


def _other_columns(error: BaseException, parameters: dict[str, str]) -> Advice:
    operation, sides = _operation(error)
    operation = operation or parameters["operator"]
    headline = (
        f"`{operation}` needs the same number of columns on both sides: the first has "
        f"{parameters['firstNumColumns']}, the {parameters['invalidOrdinalNum']} {parameters['invalidNumColumns']}"
    )
    select = "select the same columns, in the same order, on both sides"
    if not sides:
        return Advice(headline, help=(select,))
    causes = _differences(*sides)
    if operation == "unionByName":
        return Advice(headline, causes=causes, help=union_by_name(error))
    if operation in ("union", "unionAll"):
        by_name = "match columns by name and set missing ones to null: `.unionByName(..., allowMissingColumns=True)`"
        return Advice(headline, causes=causes, help=(by_name, f"or {select}"))
    return Advice(headline, causes=causes, help=(select,))


def _other_types(error: BaseException, parameters: dict[str, str]) -> Advice:
    operation, sides = _operation(error)
    operation = operation or parameters["operator"]
    ordinal = parameters["columnOrdinalNumber"]
    number = _ORDINALS.get(ordinal) or int(re.sub(r"\D", "", ordinal) or 0)
    types = [_type(parameters[key]) for key in ("dataType2", "dataType1")]
    headline = f"the {ordinal} column has types that `{operation}` cannot combine: {types[0]} and {types[1]}"
    if not sides or not 0 < number <= min(len(side.columns) for side in sides):
        return Advice(headline, help=("cast one of the columns to the type of the other",))
    first, second = (side.columns for side in sides)
    name, other = first[number - 1], second[number - 1]
    if operation == "unionByName":
        return Advice(headline.replace(f"the {ordinal} column", f"the column `{name}`"), help=(_cast(name, types[0]),))
    causes = (f"it is `{name}` on the first side and `{other}` on the second",) if name != other else ()
    by_name = name != other and operation in ("union", "unionAll")
    help = (_BY_NAME,) if by_name and set(first) == set(second) else (_cast(other, types[0]),)
    return Advice(headline, causes=causes + (_differences(*sides) if by_name else ()), help=help)


def _type(name: str) -> str:
    """Return a type's name as DDL has it; the names of a struct's fields keep their case."""
    name = name.strip('"')
    return name if "<" in name else name.lower()


def _cast(column: str, type: str) -> str:
    return f'cast it on the second side: F.col("{column}").cast("{type}")'


def _differences(first: DataFrame, second: DataFrame) -> tuple[str, ...]:
    """Return the columns that only one side has."""
    return tuple(
        f"only the {side} side has {listing(names)}"
        for side, names in (
            ("first", [name for name in first.columns if name not in second.columns]),
            ("second", [name for name in second.columns if name not in first.columns]),
        )
        if names
    )


def _operation(error: BaseException) -> tuple[str, tuple[DataFrame, DataFrame] | None]:
    """Return the method that combines two DataFrames and raised the error, with both; "" and None if none did."""
    from pyspark.sql import DataFrame

    for frame in _frames(error):
        first, second = frame.f_locals.get("self"), frame.f_locals.get("other")
        if isinstance(first, DataFrame) and isinstance(second, DataFrame):
            return frame.f_code.co_name, (first, second)
    return "", None


def _session(error: BaseException) -> SparkSession | None:
    """Return the session that was asked for a table or to run SQL."""
    from pyspark.sql import SparkSession

    for frame in _frames(error):
        receiver = frame.f_locals.get("self")
        session = getattr(receiver, "_spark", receiver)  # a reader has it as an attribute
        if isinstance(session, SparkSession):
            return session
    return None


def _frames(error: BaseException) -> list[FrameType]:
    """Return the frames that the error passed, innermost first."""
    return [frame for frame, _ in walk_tb(error.__traceback__)][::-1]


def _parts(name: str) -> list[str]:
    """Split a name as Spark prints it, such as `l`.`id`."""
    return [part.strip("`") for part in re.findall(r"`[^`]*`|[^.`]+", name)]
