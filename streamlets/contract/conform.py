"""`conform`: conversion of rows to the records of a contract, with the reason for each row that breaks it.

The conversion consists of native column expressions. Columns that need neither a change nor a check cost nothing.
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

EXACT_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",  # Spark's default truncates microseconds
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Options of Spark's writers of text that preserve all of a timestamp."""

WHOLE = {"ignoreNullFields": "false", **EXACT_TIMES}
"""Options of `to_json` that preserve all of a row."""


@dataclass(frozen=True, slots=True)
class Conformance:
    """How rows of a schema are converted to records of a contract.

    Arguments:
        columns: the record's fields, in schema order, with the names and Spark types of the contract. For a row that
            breaks the contract they are undefined, but never raise.
        reason: the first reason why a row breaks the contract (`field path: reason`), null for valid rows; None when no
            row of this schema can break it.
        original: the row as it was received, as JSON text including nulls.
        condition: a SQL expression over the record that must be true, too; None if any record is accepted.
    """

    columns: tuple[Column, ...]
    reason: Column | None
    original: Column
    condition: str | None = None

    @property
    def refuses(self) -> bool:
        """Whether a row of this schema may be refused."""
        return self.reason is not None or self.condition is not None


def conformance(rows: StructType, contract: Contract, *, extra: Extra = "fail", deep: bool = True) -> Conformance:
    """Match the schema of a DataFrame with a contract, by name.

    Numbers are widened where no value can change (`int` to `long`, `float` to `double`, `decimal` to a wider one).
    Missing fields get their default, or null if the schema allows it.

    Arguments:
        rows: the DataFrame's schema.
        contract: the contract of the resulting records.
        extra: whether columns that the contract does not have (at any depth) are an error or dropped.
        deep: whether to check every item of arrays and maps; False only compares the types of the items.

    Raises:
        ContractError: no row can conform; with the reasons by field.
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
        original=F.to_json(F.struct(*names), WHOLE),
    )


def conform(rows: DataFrame, contract: Contract, *, extra: Extra = "fail", deep: bool = True) -> DataFrame:
    """Convert rows to records of a contract; a row that breaks the contract fails the query with its reason.

    Arguments:
        rows: the rows.
        contract: the contract of the resulting records.
        extra: as for `conformance`.
        deep: as for `conformance`.

    Raises:
        ContractError: no row can conform; with the reasons by field.
    """
    from pyspark.sql import functions as F

    conversion = conformance(rows.schema, contract, extra=extra, deep=deep)
    if conversion.reason is not None:
        rows = rows.where(F.assert_true(conversion.reason.isNull(), conversion.reason).isNull())
    return rows.select(*conversion.columns)


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
