"""PSTL's retry options of a query: they are for the runner, and are removed before the sink gets its options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from blueprint.core_settings import Retry
from blueprint.settings.retry import RetryOptionError, is_option, option
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import author_location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.readwriter import DataStreamWriter


def take_retry_options(writer: DataStreamWriter, query: str) -> dict[str, object]:
    """Remove the options `pstl.retry.*` from a writer, and return the fields of `Retry` that they set.

    Arguments:
        writer: the writer of a query.
        query: the name of the query, for messages.

    Raises:
        StreamletError: an option is unknown, or its value is invalid.
    """
    java: Any = writer._jwrite  # noqa: SLF001 - Spark's writer has no public access to its options
    field = java.getClass().getDeclaredField("extraOptions")
    field.setAccessible(True)
    options = field.get(java)
    retry_options = {name: text for name, text in _entries(options) if is_option(name)}
    try:
        fields = dict(option(name, text) for name, text in retry_options.items())
    except RetryOptionError as error:
        message = f"in the query `{query}`, {error}" + "".join(f": {help}" for help in error.help)
        raise StreamletError(message, author_location()) from None
    for name in retry_options:
        options = options.removed(name)
    if retry_options:
        field.set(java, options)
    return fields


def retry_of(plan: Retry, fixed: frozenset[str], options: Mapping[str, object], query: str) -> Retry:
    """Return the effective retry settings of a query: `flow` settings, then the query's options, then defaults.

    Arguments:
        plan: the retry settings of the streamlet.
        fixed: the fields of `plan` that `flow` settings set.
        options: the fields that the query's options set.
        query: the name of the query, for messages.

    Raises:
        StreamletError: the minimum back-off is longer than the maximum.
    """
    retry = replace(plan, **{field: value for field, value in options.items() if field not in fixed})  # type: ignore[arg-type]
    if retry.min_backoff > retry.max_backoff:
        raise StreamletError(
            f"in the query `{query}`, the minimum back-off ({retry.min_backoff}) is longer than the maximum back-off "
            f"({retry.max_backoff}): see its options `pstl.retry.*` and `flow.retry`"
        )
    return retry


def _entries(options: Any) -> Iterator[tuple[str, str]]:
    entries = options.originalMap().iterator()
    while entries.hasNext():
        entry = entries.next()
        yield str(entry.productElement(0)), str(entry.productElement(1))
