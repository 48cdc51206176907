"""`conform`: rows made into a contract's records, and each row's first reason when it cannot be one.

Everything is native column expressions; what needs no change and no check costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from blueprint.avro.model import Contract
from streamlets.contract.errors import ContractError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

Extra = Literal["fail", "drop"]

_WHOLE = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",  # Spark's own cuts microseconds off
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""How `to_json` loses nothing of a row."""


@dataclass(frozen=True, slots=True)
class Conformance:
    """How rows of one schema become records of a contract.

    Arguments:
        columns: the record's fields, in schema order, under their names and with exactly its Spark types. For a
            row that breaks the contract they are undefined, but never raise.
        reason: the first reason why a row breaks the contract (`field path: why`), null for rows that keep it;
            None when no row of this schema can break it.
        original: the row as it came, as JSON text with nulls kept.
    """

    columns: tuple[Column, ...]
    reason: Column | None
    original: Column


def conformance(rows: StructType, contract: Contract, *, extra: Extra = "fail", deep: bool = True) -> Conformance:
    """Match the schema of a DataFrame with a contract, by name.

    Numbers are widened where no value can change (`int` into `long`, `float` into `double`, `decimal` into a wider
    one); missing fields take their default, or null where the schema allows it.

    Arguments:
        rows: the DataFrame's schema.
        contract: what its rows must become.
        extra: columns the contract does not have (at any depth) are a misfit, or dropped.
        deep: look at every item of arrays and maps; False checks only whether the items' types fit.

    Raises:
        ContractError: no row can ever conform; every reason, field by field.
    """
    from pyspark.sql import functions as F

    from streamlets.contract.match import Matcher
    from streamlets.contract.path import Path

    matcher = Matcher(contract, extra=extra, deep=deep)
    fields = matcher.fields(rows, contract.record, "")
    if matcher.misfits:
        raise ContractError(contract.record.name, tuple(matcher.misfits))
    names = [_quoted(field.name) for field in rows.fields]
    reasons = [reason for field in fields if (reason := field.reason(_column, Path())) is not None]
    return Conformance(
        columns=tuple(field.value(_column).alias(field.name) for field in fields),
        reason=F.coalesce(*reasons) if reasons else None,
        original=F.to_json(F.struct(*names), _WHOLE),
    )


def conform(rows: DataFrame, contract: Contract, *, extra: Extra = "fail", deep: bool = True) -> DataFrame:
    """The rows as records of the contract; a row that breaks it fails the query with its reason.

    Raises:
        ContractError: as `conformance`.
    """
    from pyspark.sql import functions as F

    found = conformance(rows.schema, contract, extra=extra, deep=deep)
    if found.reason is not None:
        rows = rows.where(F.assert_true(found.reason.isNull(), found.reason).isNull())
    return rows.select(*found.columns)


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
