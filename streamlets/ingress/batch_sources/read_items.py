"""What `read_next` of a source of the framework returns besides records: records of the contract, and broken ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ContractBatch:
    """Records that conform to the contract of the outlet, which are not checked again.

    Arguments:
        records: them, with the Arrow schema of the contract.
    """

    records: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A piece of a task that is not a record of the contract, such as a line of a file.

    Arguments:
        text: it, as it came.
        reason: its place and why it is broken, such as ``orders.csv, line 3: `id`: is null``.
    """

    text: str
    reason: str
