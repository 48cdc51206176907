"""The records of the topics, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Order:
    """An order of a customer, with its price in cents."""

    order: int
    customer: int
    cents: int
    at: datetime


@dataclass
class Payment:
    """The payment of an order. The till sends some payments twice."""

    order: int
    paid_at: datetime


@dataclass
class Settled:
    """A settled order; `paid_at` is null if it was not paid in time."""

    order: int
    customer: int
    cents: int
    at: datetime
    paid_at: datetime | None = None
