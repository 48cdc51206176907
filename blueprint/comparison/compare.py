"""`compare`: every change between two descriptors of an application, each with what it requires."""

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
    """Return every change between two descriptors, the strongest first.

    Changes that no descriptor contains are not detected: different logic of the same class, unless both descriptors
    have its queries, and different code in the same query.

    Arguments:
        old: the deployed application. Where it lacks the queries or the schemas of written records, the worst case is
            assumed.
        new: the application to deploy.
    """
    pairing = paired(old, new)
    changes = [change for comparison in _COMPARISONS for change in comparison(pairing)]
    return tuple(
        sorted(changes, key=lambda change: (-change.needs.rank, change.path or change.before, change.headline))
    )
