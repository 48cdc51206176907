"""The declared capabilities of sources, known without running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from blueprint.catalog.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOption(Option):
    """An option of a source.

    Arguments:
        column_types: for the name of a column that the source fills: the types of Spark's DDL that it can have.
    """

    column_types: tuple[str, ...] = ()


SOURCE_NOT_INSTALLED = (
    "for another one, install the package that registers it; for one of your own, run `pip install -e .`"
)
"""The help for the name of a source that is not registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTraits:
    """The capabilities of a source.

    Arguments:
        name: the name by which a blueprint selects it.
        description: what it reads, in one sentence.
        task: what is read as a whole, such as `a file`.
        identity: by what a task is known, so that it is read once.
        guarantee: whether the topic has the records of a task once, on the delta channel, or maybe several times.
        order: the order of the records.
        options: its options, in the order of the documentation.
        discovery: the default of `discovery`, without what depends on options.
        nested: whether it can fill columns of records, arrays and maps, and binary ones.
        one_string: whether it fills one column of type string, besides those that options name.
        exclusive: pairs of options of which only one can be set.
        passes_on: the beginnings of the names of further options, which are passed on unchecked, such as `headers.`.
        package: the Python package that it imports; "" if it needs none besides the dependencies of Streamlets.
        install: the argument of `pip install` that installs the package.
    """

    name: str
    description: str
    task: str
    identity: str
    guarantee: Literal["exactly-once", "at-least-once"]
    order: str
    options: tuple[SourceOption, ...] = ()
    discovery: Mapping[str, object] = field(default_factory=dict)
    nested: bool = True
    one_string: bool = False
    exclusive: tuple[tuple[str, str], ...] = ()
    passes_on: tuple[str, ...] = ()
    package: str = ""
    install: str = ""
