"""The till roll as functions: orders, payments and their times. Any part can be computed at any time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

OPENING = datetime(2024, 5, 1, 8, tzinfo=UTC)
PAID_AFTER = 30
"""The delay of a payment, in orders, which are one second apart."""
REPEATED_AFTER = 15
"""The delay of a repeated payment after the first, in orders."""


def at(order: int) -> datetime:
    """Return the time of an order; there is one order per second."""
    return OPENING + timedelta(seconds=order)


def customer(order: int) -> int:
    """Return the customer of an order."""
    return order * 31 % 97


def cents(order: int) -> int:
    """Return the price of an order."""
    return 100 + order * 37 % 5000


def is_paid(order: int) -> bool:
    """Return whether an order is paid; one customer in ten does not pay."""
    return order % 10 != 3


def paid_at(order: int) -> datetime | None:
    """Return when an order is paid."""
    return at(order + PAID_AFTER) if is_paid(order) else None


def payments(order: int) -> list[int]:
    """Return the orders whose payments the till sends with this order, including repeated payments."""
    first, again = order - PAID_AFTER, order - PAID_AFTER - REPEATED_AFTER
    sent = [first] if first >= 0 and is_paid(first) else []
    return [*sent, again] if again >= 0 and again % 7 == 0 and is_paid(again) else sent
