"""What travels between the streamlets, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Order:
    """A customer ordered something for so many cents."""

    order: int
    customer: int
    cents: int
    at: datetime


@dataclass
class Payment:
    """An order was paid. The till sends some of these twice."""

    order: int
    paid_at: datetime


@dataclass
class Settled:
    """What became of an order; without `paid_at` nobody paid in time."""

    order: int
    customer: int
    cents: int
    at: datetime
    paid_at: datetime | None = None
