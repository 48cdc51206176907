"""The state of a session before the statements of a job, so that they have the same effect at each restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class _State:
    """The settings of a session, and where it looks for tables."""

    settings: Mapping[str, str]
    catalog: str
    database: str


_FIRST: WeakKeyDictionary[SparkSession, _State] = WeakKeyDictionary()
"""The state of each session before its first job."""


def restore(session: SparkSession, views: Iterable[str]) -> None:
    """Undo what the statements of a job have changed in a session when they were executed before.

    A setting, or a database of `USE`, would otherwise hold from the first statement on, and a view would hide a table
    of its name from the statements before it.

    Arguments:
        session: the session of the streamlet; at its first job nothing is changed.
        views: the views that the job defines.
    """
    first = _FIRST.get(session)
    if first is None:
        _FIRST[session] = _state(session)
        return
    for view in views:
        session.catalog.dropTempView(view)
    now = _state(session)
    if (now.catalog, now.database) != (first.catalog, first.database):
        session.catalog.setCurrentCatalog(first.catalog)
        session.catalog.setCurrentDatabase(first.database)
    for name, value in now.settings.items():
        if name not in first.settings:
            session.conf.unset(name)
        elif value != first.settings[name]:
            session.conf.set(name, first.settings[name])
    for name in first.settings.keys() - now.settings.keys():
        session.conf.set(name, first.settings[name])


def _state(session: SparkSession) -> _State:
    catalog = session.catalog
    return _State(dict(session.conf.getAll), catalog.currentCatalog(), catalog.currentDatabase())
