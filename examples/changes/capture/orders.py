"""The table that is followed, and the records of its changes."""

from __future__ import annotations

from collections.abc import Mapping

TABLE = "orders"
KEY = "id"
COLUMNS = ("id", "customer", "amount")

SCHEMA = (
    "position bigint not null, deleted boolean not null, id bigint not null, customer string, amount decimal(10, 2)"
)
"""A change: its position among all changes, whether it deletes the row, and the row; a deleted row has only its key."""


def change(position: int, row: Mapping[str, object], *, deleted: bool = False) -> dict[str, object]:
    """Return the record of a change.

    Arguments:
        position: grows with each change.
        row: the values by column.
        deleted: whether the row with this key no longer exists.
    """
    columns = (KEY,) if deleted else COLUMNS
    return {"position": position, "deleted": deleted, **{name: row[name] for name in columns}}
