"""`check`: whether a reader can read every record of a writer, the reasons if not, and changes that fix them."""

from __future__ import annotations

from blueprint.avro.model import Contract
from blueprint.avro.resolution.reasons import Resolution
from blueprint.avro.resolution.resolution import compared


def check(writer: Contract, reader: Contract, *, suggest: bool = True) -> Resolution:
    """Compare two contracts, and suggest changes for each error.

    Arguments:
        writer: the contract of the producer.
        reader: the contract of the consumer.
        suggest: whether to search for changes. Each of them was tested: it fixes its error and causes no other.
    """
    resolution = compared(writer, reader)
    if resolution.compatible or not suggest:
        return resolution
    from blueprint.avro.resolution.suggestions import with_changes  # not needed for compatible schemas

    return Resolution(with_changes(writer, reader, resolution.reasons))
