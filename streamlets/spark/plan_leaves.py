"""The leaves of a plan: the sources of streams, and tables, by what determines their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blueprint.settings.secrets import without_secrets
from streamlets.spark.plan_json import PlanPart

_SOURCE = re.compile(r'name="(\w+)"$')
_NUMBERS = re.compile(r"@[0-9a-f]+|#\d+L?|, splits=\w+(?:\(\d+\))?")
_UNKNOWN = "{?}"
_OF_THE_SIZE_OF_BATCHES = re.compile(
    r"max(?:files|bytes|offsets|records)per|minoffsetspertrigger|maxtriggerdelay|numpartitions|minpartitions|"
    r"cleansource|latestfirst|filenameonly|fetchsize|rowspersecond|rampuptime|maxcachedfiles|failondataloss|"
    r"groupid|kafka\.(?:group|client|ssl|sasl|security|max|fetch|request|session)|startingoffsets|startingtimestamp"
)
"""Options, in lower case, that do not decide which rows there are, or only when a query starts for the first time."""


def source_name(leaf: PlanPart) -> str:
    """Return the name of the source of a stream; "" if it has none."""
    named = _SOURCE.search(leaf.text)
    return named[1] if named else ""


def source_text(leaf: PlanPart, mask: Callable[[str], str]) -> str:
    """Return the origin of the rows of a stream: its format and options.

    Arguments:
        leaf: the source.
        mask: returns a text without secrets.
    """
    try:
        node = leaf.node
        if leaf.name == "StreamingRelation":
            source = node.dataSource()
            options = _options(_pairs(source.options()), mask)
            paths = dict.fromkeys([*_texts(source.paths()), *_texts(source.options().get("path").toList())])
            return " ".join([str(source.className()), *map(mask, paths), *options])
        options = _options(dict(node.extraOptions()).items(), mask)
        return " ".join([str(node.sourceName()), *options])
    except Exception:  # noqa: BLE001 - what Java raises depends on the class
        return f"{leaf.name}{_UNKNOWN}"


def table_text(leaf: PlanPart, mask: Callable[[str], str]) -> str:
    """Return a text that determines the rows of a table: its path and options, its name or its rows.

    Rows that the author's code creates are not known.

    Arguments:
        leaf: the table.
        mask: returns a text without secrets.
    """
    try:
        match leaf.name:
            case "LocalRelation":
                return f"rows {mask(str(leaf.node.data().mkString(' ')))}"
            case "LogicalRelation":
                relation = leaf.node.relation()
                kind = str(relation.getClass().getSimpleName())
                if kind == "JDBCRelation":
                    return " ".join([kind, *_options(_pairs(relation.jdbcOptions().parameters()), mask)])
                if kind != "HadoopFsRelation":
                    return f"{kind}{_UNKNOWN}"
                paths = " ".join(_texts(relation.location().rootPaths()))
                return " ".join([f"table {mask(paths)}", *_options(_pairs(relation.options()), mask)])
            case "DataSourceV2Relation":
                name = mask(str(leaf.node.table().name()))
                return " ".join(["table", name, *_options(dict(leaf.node.options()).items(), mask, path=True)])
            case "LogicalRDD" | "ExternalRDD":
                return f"rows{_UNKNOWN}"
    except Exception:  # noqa: BLE001 - what Java raises depends on the class
        return f"{leaf.name}{_UNKNOWN}"
    return mask(_NUMBERS.sub("", leaf.text))


def _options(options: Iterable[tuple[str, str]], mask: Callable[[str], str], *, path: bool = False) -> list[str]:
    """Return options in their order, without limits of batches and without the values of secrets.

    Arguments:
        options: the options by name.
        mask: returns a text without secrets.
        path: whether the path is one of them.
    """
    known = {name.lower(): value for name, value in options if not _OF_THE_SIZE_OF_BATCHES.match(name.lower())}
    shown = ((name, without_secrets(name, value)) for name, value in sorted(known.items()) if path or name != "path")
    return [f"{name}={mask(str(value))}" for name, value in shown]


def _pairs(options: Any) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a map in Java."""
    names = options.keys().toSeq()
    for index in range(names.size()):
        name = names.apply(index)
        yield str(name), str(options.apply(name))


def _texts(items: Any) -> Iterator[str]:
    """Yield the items of a sequence in Java as texts."""
    for index in range(items.size()):
        item = items.apply(index)
        yield item if isinstance(item, str) else str(item.toString())
