"""Comparing the results of a backfill with what the running application has written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract
from blueprint.plan import ApplicationPlan
from blueprint.spelling import suggestion
from streamlets.backfills.model import Backfill, BackfillError, Request
from streamlets.backfills.plan import backfill_plan, streamlet_of
from streamlets.backfills.results import FORMAT, contract_of, file_of, new_topic
from streamlets.backfills.store import Store
from streamlets.channels.base import TopicResource
from streamlets.datasets.difference import Difference, compare
from streamlets.datasets.topic_records import TopicRecords
from streamlets.runner.topics import topics_of

Columns = Sequence[str]


def require_comparable(plan: ApplicationPlan, store: Store, request: Request, by: Columns, ignored: Columns) -> None:
    """Require that the results of a request can be compared.

    Arguments:
        plan: the application.
        store: its backfills.
        request: the request.
        by: the columns that identify a record.
        ignored: the columns whose values do not matter.

    Raises:
        BackfillError: they cannot.
    """
    for bound in (request.begin, request.end):
        if bound is not None and bound.time is None:
            raise BackfillError(
                f"`{bound.text}` is a position, but what the application has written is compared by its time",
                "give times for `--from` and `--to`",
            )
    outlets, topics = streamlet_of(plan, request.streamlet).outlets, topics_of(plan, store.state)
    for outlet in outlets:
        if not topics[outlet.topic].exists():
            raise BackfillError(
                f"the application has no topic `{outlet.topic}` to compare with", "omit `--compare`", refused=False
            )
    contracts = [outlet.contract for outlet in outlets]
    known = sorted({field.name for contract in contracts for field in contract.record.fields})
    for column in (*by, *ignored):
        if column not in known:
            raise BackfillError(f"no result has a column `{column}`; {suggestion(column, known)}")
    if both := sorted({*by} & {*ignored}):
        raise BackfillError(f"`{both[0]}` is in `--by` and in `--ignore`")


def compared(
    plan: ApplicationPlan, store: Store, backfill: Backfill, *, by: Columns, ignored: Columns, limit: int
) -> dict[str, Difference]:
    """Return the differences between topics of an application in the range, on the left, and its results.

    Arguments:
        plan: the application.
        store: its backfills.
        backfill: the backfill, which is done.
        by, ignored: as for `require_comparable`. In a topic that does not have all of `by`, records are compared whole.
        limit: the number of records in a result that are not the same.

    Raises:
        TopicLostError, UnreadableRecordsError, FileError, OSError: one of both cannot be read.
    """
    alone = backfill_plan(plan, streamlet_of(plan, backfill.request.streamlet))
    written, own = topics_of(plan, store.state), topics_of(alone, store.work(backfill.name))
    found = {}
    for id in sorted({outlet.topic for outlet in alone.streamlets[0].outlets}):
        contract = contract_of(alone, id)
        columns = {field.name for field in contract.record.fields}
        found[id] = compare(
            _written(written[id], contract, backfill.request),
            _results(store, backfill, own[id], contract),
            contract,
            by=by if columns.issuperset(by) else (),
            ignored=[name for name in ignored if name in columns],
            limit=limit,
        )
    return found


def _written(topic: TopicResource, contract: Contract, request: Request) -> Iterator[Mapping[str, Any]]:
    since = request.begin.time if request.begin is not None else None
    until = request.end.time if request.end is not None else None
    return TopicRecords(topic=topic, contract=contract, end=topic.end(), since=since, until=until).rows()


def _results(store: Store, backfill: Backfill, own: TopicResource, contract: Contract) -> Iterable[Mapping[str, Any]]:
    """Return the results in a topic, from where they were handed over to."""
    request = backfill.request
    if request.into:
        names = [field.name for field in contract.record.fields]
        return FORMAT.rows(file_of(Path(request.into), own.plan.id), contract, names)
    topic = new_topic(store.state, request.topic) if request.topic else own
    return TopicRecords(topic=topic, contract=contract, end=topic.end()).rows()
