"""Avro's object container files, written from records that are encoded already.

Layout: https://avro.apache.org/docs/1.12.0/specification/#object-container-files. The records come from the encoder of
messages, which knows the branch of each union; libraries that take Python values have to guess it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import IO, TYPE_CHECKING

from blueprint.avro.model import Contract
from streamlets.contract.wire.binary import binary_codec

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_BLOCK_BYTES = 64 * 1024
"""The size from which on a block is written, before it is compressed."""


@contextmanager
def container_writer(stream: IO[bytes], contract: Contract) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Open a writer of a container with the codec `deflate`.

    Arguments:
        stream: takes the bytes.
        contract: the contract of the records, which the container has in its header.

    Returns:
        A context manager of a function that takes batches with the Arrow schema of the contract.

    Raises:
        ContractError: the schema has a type that Spark cannot represent.
    """
    codec, sync = binary_codec(contract), os.urandom(_SYNC_BYTES)
    stream.write(_MAGIC + _bytes_map({"avro.schema": contract.json.encode(), "avro.codec": b"deflate"}) + sync)
    block, records = BytesIO(), 0

    def end_block() -> None:
        nonlocal records
        compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # without a header, as the specification says
        data = compressor.compress(block.getvalue()) + compressor.flush()
        stream.write(_long(records) + _long(len(data)) + data + sync)
        block.seek(0)
        block.truncate()
        records = 0

    def write(batch: pa.RecordBatch) -> None:
        nonlocal records
        for record in codec.encode(batch):
            block.write(record)
            records += 1
            if block.tell() >= _BLOCK_BYTES:
                end_block()

    yield write
    if records:
        end_block()


def _bytes_map(entries: Mapping[str, bytes]) -> bytes:
    pairs = b"".join(_bytes(key.encode()) + _bytes(value) for key, value in entries.items())
    return _long(len(entries)) + pairs + _long(0)


def _bytes(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    """Return a number that is not negative in Avro's encoding: zigzag, seven bits in each byte, the lowest first."""
    rest, encoded = number << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
