"""The registration of the sink `webhook`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from blueprint.catalog import ParameterProblem, ParameterType, SinkOption, SinkTraits
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter
from streamlets.egress.webhook.headers import HEADERS, header_problems

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WebhookSink(SinkType):
    """A server that takes records by HTTP."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="webhook",
        description="Requests (POST) to a server, each with a JSON array of records.",
        guarantee="at-least-once",
        options=(
            SinkOption(name="url", description="the URL of the server", required=True),
            SinkOption(
                name="max-records",
                description="the maximum number of records in a request",
                type=ParameterType.INTEGER,
                default="500",
                minimum=1,
            ),
            SinkOption(
                name="max-bytes",
                description="the maximum size of a request; a larger record is sent alone",
                type=ParameterType.MEMORY_SIZE,
                default="1 MiB",
            ),
            SinkOption(
                name="timeout",
                description="how long to wait for the server to connect, and to answer",
                type=ParameterType.DURATION,
                default="30 seconds",
            ),
            SinkOption(
                name="attempts",
                description="how often a request is sent before the query fails and is restarted",
                type=ParameterType.INTEGER,
                default="5",
                minimum=1,
            ),
            SinkOption(
                name="dead-letters",
                description="the directory of files with the records that the server refuses; without it they fail the "
                "query",
                type=ParameterType.PATH,
            ),
        ),
        output_modes=("append", "update"),
        passes_on=(HEADERS,),
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield why the server cannot be asked."""
        try:
            url = urlsplit(str(options["url"]))
            valid = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            valid = False
        if not valid:
            help = ("write `https://host/path`",)
            yield ParameterProblem(("options", "url"), "`url` must be a URL of HTTP with a host", help)
        elif url.username is not None or url.password is not None:
            help = ('set `headers.Authorization`, such as `"Basic ..."` or `"Bearer ..."`',)
            yield ParameterProblem(("options", "url"), "`url` must not have a user or a password", help)
        yield from header_problems(options)

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that sends the records of each batch."""
        from streamlets.egress.webhook.batches import WebhookBatches

        batches = WebhookBatches(query)
        return SinkWriter(rows.writeStream.foreachBatch(batches), batches)
