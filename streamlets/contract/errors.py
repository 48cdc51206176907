"""`ContractError`: rows that can never give the records of a contract, said field by field."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why one field cannot conform.

    Arguments:
        path: the field, as `order.items[].price`; "" is the record itself.
        reason: what there is and what the contract wants, one sentence without full stop.
        remedy: the smallest change that would do, "" when none is known.
    """

    path: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"`{self.path}`: " if self.path else ""
        return f"{place}{self.reason}{f' ({self.remedy})' if self.remedy else ''}"


class ContractError(Exception):
    """A DataFrame, or a pair of schemas, that no row can make fit.

    Arguments:
        contract: full name of the contract's record.
        misfits: every reason, in schema order.
    """

    def __init__(self, contract: str, misfits: tuple[Misfit, ...]) -> None:
        self.contract = contract
        self.misfits = misfits
        super().__init__("\n".join([f"the rows do not fit the schema `{contract}`:", *(f"  {m}" for m in misfits)]))
