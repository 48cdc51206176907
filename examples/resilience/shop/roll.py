"""The till's roll as arithmetic: which orders there are, who pays, and when. Any part can be computed at any time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

OPENING = datetime(2024, 5, 1, 8, tzinfo=UTC)
PAID_AFTER = 30
"""An order is paid this many orders, and so seconds, later."""
REPEATED_AFTER = 15
"""A payment that is sent twice is sent again this many orders later."""


def at(order: int) -> datetime:
    """When an order is made: one a second."""
    return OPENING + timedelta(seconds=order)


def customer(order: int) -> int:
    """Who made it."""
    return order * 31 % 97


def cents(order: int) -> int:
    """What it costs."""
    return 100 + order * 37 % 5000


def is_paid(order: int) -> bool:
    """Whether anybody pays: one customer in ten does not."""
    return order % 10 != 3


def paid_at(order: int) -> datetime | None:
    """When it is paid."""
    return at(order + PAID_AFTER) if is_paid(order) else None


def payments(order: int) -> list[int]:
    """The orders whose payments the till sends while it takes this order; some are sent for the second time."""
    first, again = order - PAID_AFTER, order - PAID_AFTER - REPEATED_AFTER
    sent = [first] if first >= 0 and is_paid(first) else []
    return [*sent, again] if again >= 0 and again % 7 == 0 and is_paid(again) else sent
