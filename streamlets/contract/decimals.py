"""Decimals as Avro holds them: the two's complement bytes of the unscaled number, and back, with every digit."""

from __future__ import annotations

from decimal import Context, Decimal

EXACT = Context(prec=80)
"""Spark has 38 digits; Python's own context has 28, and would round."""


def decimal_of(data: bytes, scale: int) -> Decimal:
    """The decimal that the bytes are, with `scale` digits behind its point."""
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, EXACT)


def bytes_of(value: Decimal, scale: int, size: int | None = None) -> bytes:
    """The bytes of a decimal with at most `scale` digits behind its point.

    Arguments:
        size: how many bytes; left out, as few as it takes.
    """
    unscaled = int(value.scaleb(scale, EXACT))
    length = size if size is not None else max(1, (unscaled + (unscaled < 0)).bit_length() // 8 + 1)
    return unscaled.to_bytes(length, "big", signed=True)
