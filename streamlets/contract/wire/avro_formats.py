"""The formats with Avro's binary encoding, which differ in how a message names the schema of its writer."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from blueprint.avro.canonical import canonical_form
from blueprint.avro.model import Contract
from streamlets.contract.wire.binary import binary_codec
from streamlets.contract.wire.errors import UndecodableError, UnknownSchemaError
from streamlets.contract.wire.format import Decoded

if TYPE_CHECKING:
    import pyarrow as pa

MARKER = b"\xc3\x01"
"""The first bytes of Avro's single-object encoding, which the fingerprint of the schema follows."""

MAGIC = b"\x00"
"""The first byte of Confluent's wire format, which the id of the schema follows in four bytes, big-endian."""


def schema_fingerprint(contract: Contract) -> str:
    """Return the fingerprint of a schema in messages: CRC-64-AVRO of its parsing canonical form, 16 hex digits.

    Unlike `Contract.fingerprint` it does not cover logical types (Avro specification 1.12, "Schema Fingerprints").
    """
    from fastavro.schema import fingerprint

    # fastavro returns the bytes of the fingerprint in the order in which they are stored, the lowest one first.
    stored = bytes.fromhex(fingerprint(canonical_form(contract.record), "CRC-64-AVRO"))
    return stored[::-1].hex()


def fingerprint_header(fingerprint: str) -> bytes:
    """Return the first 10 bytes of a message in single-object encoding.

    Arguments:
        fingerprint: the fingerprint of the writer's schema, as `schema_fingerprint` returns it.
    """
    return MARKER + bytes.fromhex(fingerprint)[::-1]


def id_header(schema_id: int) -> bytes:
    """Return the first 5 bytes of a message in Confluent's wire format."""
    return MAGIC + struct.pack(">I", schema_id)


class Registry(Protocol):
    """The requests of Confluent's wire format to a schema registry."""

    def id_of(self, contract: Contract) -> int:
        """Return the id of a writer's schema, registered if it is new.

        Raises:
            RegistryError: the registry cannot be reached, or refuses the schema.
        """

    def contract(self, schema_id: int) -> Contract:
        """Return the schema with an id.

        Raises:
            UnknownSchemaError: the registry has no such schema.
            RegistryError: the registry cannot be reached.
        """


@dataclass(frozen=True, slots=True)
class SingleObject:
    """Avro single-object encoding: a marker, the fingerprint of the writer's schema, the record.

    Arguments:
        find: returns the contract with a fingerprint of `schema_fingerprint`; None if it is not known.
    """

    find: Callable[[str], Contract | None]

    def encode(self, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
        """Return a message for each record; see `WireFormat.encode`."""
        return _with_header(fingerprint_header(schema_fingerprint(contract)), rows, contract)

    def decode(self, message: bytes) -> Decoded:
        """Return the record of a message; see `WireFormat.decode`."""
        if message[:2] != MARKER or len(message) < 10:
            raise UndecodableError(
                f"a message must begin with the bytes c301 and a fingerprint of 8 bytes, found {_start(message)}"
            )
        fingerprint = message[2:10][::-1].hex()
        contract = self.find(fingerprint)
        if contract is None:
            raise UnknownSchemaError(fingerprint, f"no known schema has the fingerprint {fingerprint}")
        return Decoded(contract, binary_codec(contract).decode(message, 10))

    def rows(self, contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records as Arrow; see `WireFormat.rows`."""
        return binary_codec(contract).rows(values)


@dataclass(frozen=True, slots=True)
class Confluent:
    """Confluent's wire format: a magic byte, the id of the writer's schema in a registry, the record.

    Arguments:
        registry: the schema registry.
    """

    registry: Registry

    def encode(self, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
        """Return a message for each record; see `WireFormat.encode`.

        Raises:
            RegistryError: the registry cannot be reached, or refuses the schema.
        """
        return _with_header(id_header(self.registry.id_of(contract)), rows, contract)

    def decode(self, message: bytes) -> Decoded:
        """Return the record of a message; see `WireFormat.decode`.

        Raises:
            RegistryError: the registry cannot be reached.
        """
        if message[:1] != MAGIC or len(message) < 5:
            raise UndecodableError(
                f"a message must begin with the byte 00 and a schema id of 4 bytes, found {_start(message)}"
            )
        contract = self.registry.contract(int.from_bytes(message[1:5], "big"))
        return Decoded(contract, binary_codec(contract).decode(message, 5))

    def rows(self, contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records as Arrow; see `WireFormat.rows`."""
        return binary_codec(contract).rows(values)


@dataclass(frozen=True, slots=True)
class PlainAvro:
    """Avro's binary encoding without a header: all messages are written with one schema.

    Arguments:
        writer: the contract of all messages.
    """

    writer: Contract

    def encode(self, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
        """Return a message for each record; see `WireFormat.encode`.

        Raises:
            ValueError: messages may have another contract.
        """
        if schema_fingerprint(contract) != schema_fingerprint(self.writer):
            raise ValueError(
                f"messages of plain Avro have one schema, `{self.writer.record.name}` {self.writer.fingerprint}; "
                f"found `{contract.record.name}` {contract.fingerprint}"
            )
        return binary_codec(contract).encode(rows)

    def decode(self, message: bytes) -> Decoded:
        """Return the record of a message; see `WireFormat.decode`."""
        return Decoded(self.writer, binary_codec(self.writer).decode(message))

    def rows(self, contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records as Arrow; see `WireFormat.rows`."""
        return binary_codec(contract).rows(values)


def _with_header(header: bytes, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
    return [header + record for record in binary_codec(contract).encode(rows)]


def _start(message: bytes) -> str:
    return message[:10].hex() or "no bytes"
