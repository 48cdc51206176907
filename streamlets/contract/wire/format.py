"""The interface of a format: how the records of a topic are stored in messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from blueprint.avro.model import Contract

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded message.

    Arguments:
        contract: the contract that the record was written with.
        value: the record as a value that `WireFormat.rows` of the same format accepts.
    """

    contract: Contract
    value: object


class WireFormat(Protocol):
    """How the records of a topic are stored in messages."""

    def encode(self, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
        """Return a message for each record.

        Arguments:
            rows: the records, with the Arrow schema of the contract.
            contract: the contract that the records are written with.
        """

    def decode(self, message: bytes) -> Decoded:
        """Return the record of a message.

        Raises:
            UnknownSchemaError: the schema of its writer is not known.
            UndecodableError: its bytes do not match the format or the schema.
        """

    def rows(self, contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records in the Arrow schema of the contract that they were written with.

        Arguments:
            contract: their contract.
            values: the values of `decode` for messages of this contract.
        """
