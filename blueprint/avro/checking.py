"""`check`: whether a reader can read all that a writer may write, why not, and what would do."""

from __future__ import annotations

from blueprint.avro.model import Contract
from blueprint.avro.reasons import Resolution
from blueprint.avro.resolution import compared


def check(writer: Contract, reader: Contract, *, suggest: bool = True) -> Resolution:
    """What `compared` finds, each error with the changes that would do.

    Arguments:
        suggest: whether to look for changes; each was tried, and takes its reason away without a new one.
    """
    resolution = compared(writer, reader)
    if resolution.compatible or not suggest:
        return resolution
    from blueprint.avro.suggestions import with_changes  # costs an import that compatible schemas need not pay

    return Resolution(with_changes(writer, reader, resolution.reasons))
