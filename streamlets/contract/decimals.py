"""Exact conversion of decimals to and from Avro's form, the two's complement bytes of the unscaled number."""

from __future__ import annotations

from decimal import Context, Decimal

EXACT = Context(prec=80)
"""A context for all decimals of Spark, which have up to 38 digits. Python's default context would round to 28."""


def decimal_of(data: bytes, scale: int) -> Decimal:
    """Return the decimal that the bytes represent, with `scale` digits after the decimal point."""
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, EXACT)


def bytes_of(value: Decimal, scale: int, size: int | None = None) -> bytes:
    """Return the bytes of a decimal.

    Arguments:
        value: a decimal with at most `scale` digits after the decimal point.
        scale: the scale of the Avro type.
        size: the number of bytes; default: as few as possible.
    """
    unscaled = int(value.scaleb(scale, EXACT))
    length = size if size is not None else max(1, (unscaled + (unscaled < 0)).bit_length() // 8 + 1)
    return unscaled.to_bytes(length, "big", signed=True)
