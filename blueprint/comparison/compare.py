"""`compare`: every change between two descriptors of an application, each with what it takes to make it."""

from __future__ import annotations

from blueprint.comparison import streamlets
from blueprint.comparison.changes import Change
from blueprint.comparison.contracts import schemas
from blueprint.comparison.descriptor import ApplicationDescriptor
from blueprint.comparison.inlets import inlets
from blueprint.comparison.logic import queries
from blueprint.comparison.outlets import outlets
from blueprint.comparison.pairing import paired
from blueprint.comparison.settings import settings
from blueprint.comparison.topics import topics

_COMPARISONS = (
    streamlets.application,
    streamlets.streamlets,
    inlets,
    outlets,
    queries,
    schemas,
    topics,
    settings,
)


def compare(old: ApplicationDescriptor, new: ApplicationDescriptor) -> tuple[Change, ...]:
    """Return every change, the one that takes most first; none between a descriptor and itself.

    What neither descriptor says is not seen: other logic under the same class, unless both know their queries, and
    other code in the same query.

    Arguments:
        old: as it is deployed; what it says of queries and of records in topics makes the answer exact, and where it
            says nothing the worst is assumed.
        new: as it shall be.
    """
    pairing = paired(old, new)
    found = [change for comparison in _COMPARISONS for change in comparison(pairing)]
    return tuple(sorted(found, key=lambda change: (-change.needs.rank, change.path or change.before, change.headline)))
