"""Walking over Avro's binary encoding as its Java library does, to find bytes that fastavro misreads.

These are branches counted from the end, numbers with too many bytes, negative lengths.
"""

from __future__ import annotations

from blueprint.avro.model import Array, Contract, Enum, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.wording import counted

_BYTES = {"int": 5, "long": 10}
"""The largest number of bytes of an integer."""


def check_encoding(contract: Contract, data: bytes, start: int) -> None:
    """Raise an error unless the bytes are an encoding of a record to its end.

    Arguments:
        contract: the contract of the writer.
        data: the bytes of the record, and what is before them.
        start: the number of the record's first byte.

    Raises:
        ValueError: they are not.
    """
    walk = _Walk(contract, data, start)
    walk.skip(contract.record)
    if walk.at != len(data):
        raise ValueError(f"{counted(len(data) - walk.at, 'byte remains', 'bytes remain')} after its end")


class _Walk:
    def __init__(self, contract: Contract, data: bytes, start: int) -> None:
        self._contract = contract
        self._data = data
        self.at = start

    def skip(self, schema: Schema) -> None:
        held = self._contract.resolve(schema)
        match held:
            case Record(fields=fields):
                for field in fields:
                    self.skip(field.schema)
            case Union(branches=branches):
                self.skip(branches[self._index(len(branches), "branch")])
            case Enum(symbols=symbols):
                self._index(len(symbols), "symbol")
            case Array(items=inner) | Map(values=inner):
                self._blocks(inner, keys=isinstance(held, Map))
            case Fixed(size=size):
                self._forward(size)
            case Primitive(type="int" | "long" as kind):
                self._number(kind)
            case Primitive(type="string" | "bytes"):
                self._forward(self._number("long"))
            case Primitive(type="boolean"):
                if (byte := self._data[self._forward(1)]) > 1:
                    raise ValueError(f"the byte {byte:02x} is not a boolean")
            case Primitive(type=kind):
                self._forward({"null": 0, "float": 4, "double": 8}[kind])

    def _blocks(self, inner: Schema, *, keys: bool) -> None:
        while count := self._number("long"):
            if count < 0:
                self._number("long")  # the size of the block, which a reader may use to skip it
            for _ in range(abs(count)):
                if keys:
                    self._forward(self._number("long"))
                before = self.at
                self.skip(inner)
                if self.at == before and not keys and abs(count) > len(self._data):
                    raise ValueError(f"an array of {abs(count)} items without bytes")

    def _index(self, count: int, what: str) -> int:
        index = self._number("int")
        if not 0 <= index < count:
            raise ValueError(f"there is no {what} {index}")
        return index

    def _number(self, kind: str) -> int:
        number = 0
        for count in range(_BYTES[kind]):
            byte = self._data[self._forward(1)]
            number |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise ValueError(f"a number has more than {_BYTES[kind]} bytes")

    def _forward(self, count: int) -> int:
        """Move over bytes; return where they begin."""
        if count < 0 or self.at + count > len(self._data):
            raise ValueError(f"expected {counted(count, 'byte')} at {self.at}, found {len(self._data) - self.at}")
        self.at += count
        return self.at - count
