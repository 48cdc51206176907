"""PSTL's options about retry on a query: they are for whoever runs it, so its sink must not see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from blueprint.plan import Retry
from blueprint.settings.retry import RetryOptionError, is_option, option
from streamlets.api.declared import authors_call
from streamlets.api.errors import StreamletError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.readwriter import DataStreamWriter


def take_retry_options(writer: DataStreamWriter, query: str) -> dict[str, object]:
    """Take the options `pstl.retry.*` off a writer; gives the fields of `Retry` that they set.

    Arguments:
        query: its name, for messages.

    Raises:
        StreamletError: there is no such option, or its value is wrong.
    """
    java: Any = writer._jwrite  # noqa: SLF001 - Spark's writer keeps its options to itself
    kept = java.getClass().getDeclaredField("extraOptions")
    kept.setAccessible(True)
    options = kept.get(java)
    taken = {name: text for name, text in _entries(options) if is_option(name)}
    try:
        found = dict(option(name, text) for name, text in taken.items())
    except RetryOptionError as error:
        raise StreamletError("; ".join((f"the query `{query}`: {error}", *error.help)), authors_call()) from None
    for name in taken:
        options = options.removed(name)
    if taken:
        kept.set(java, options)
    return found


def retry_of(plan: Retry, fixed: frozenset[str], options: Mapping[str, object], query: str) -> Retry:
    """How a query is restarted: what `flow` sets, then the query's own options, then defaults.

    Arguments:
        plan: the streamlet's; fixed: which of its fields `flow` sets.
        options: fields that the query's options set.

    Raises:
        StreamletError: the shortest wait is longer than the longest.
    """
    found = replace(plan, **{field: value for field, value in options.items() if field not in fixed})  # type: ignore[arg-type]
    if found.min_backoff > found.max_backoff:
        raise StreamletError(
            f"the query `{query}`: its shortest wait before a restart ({found.min_backoff}) is longer than its longest "
            f"({found.max_backoff}); see its options `pstl.retry.*` and `flow.retry`"
        )
    return found


def _entries(options: Any) -> Iterator[tuple[str, str]]:
    entries = options.originalMap().iterator()
    while entries.hasNext():
        entry = entries.next()
        yield str(entry.productElement(0)), str(entry.productElement(1))
