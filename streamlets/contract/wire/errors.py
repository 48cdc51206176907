"""Why a message is not a record."""

from __future__ import annotations


class WireError(Exception):
    """A message that is not a record of its topic. The text is the reason, without a full stop."""


class UndecodableError(WireError):
    """The bytes of a message do not match its format or the schema of its writer."""


class UnknownSchemaError(WireError):
    """The schema of a message's writer is not known.

    Arguments:
        schema: the fingerprint or the id of the schema, as the message has it.
        message: the text of the error.
    """

    def __init__(self, schema: str, message: str) -> None:
        super().__init__(message)
        self.schema = schema


TOMBSTONE = "the message has no value: it is a tombstone, which marks a deleted key"
"""Why a message without a value is not a record."""
