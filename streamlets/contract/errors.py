"""`ContractError`: a schema of rows that cannot be converted to the records of a contract."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why one field cannot conform.

    Arguments:
        path: the field, such as `order.items[].price`; "" for the record itself.
        reason: what the rows have and what the contract expects, one sentence without a full stop.
        remedy: the smallest change that fixes it, "" when none is known.
    """

    path: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"`{self.path}`: " if self.path else ""
        return f"{place}{self.reason}{f' ({self.remedy})' if self.remedy else ''}"


class ContractError(Exception):
    """A DataFrame, or a pair of schemas, for which no row can conform.

    Arguments:
        contract: the full name of the contract's record.
        misfits: all reasons, in schema order.
    """

    def __init__(self, contract: str, misfits: tuple[Misfit, ...]) -> None:
        self.contract = contract
        self.misfits = misfits
        super().__init__("\n".join([f"the rows do not match the schema `{contract}`:", *(f"  {m}" for m in misfits)]))
