"""Copying the records of a topic to another topic, such as from one channel to another.

The copy appends in the order of the source, each record with the contract that it was written with. The position in the
source is the marker of the copy's writer, which the target commits together with the records. So a copy that was
interrupted continues after the last record that it has published.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from streamlets.channels.base import Position, TopicResource
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    pass

AT_ONCE = 20_000
"""The maximum number of records in an append."""


class CopyError(Exception):
    """A topic cannot be copied."""


class OtherRecordsError(CopyError):
    """The target of a copy has records of others, and appending to them was not requested."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a copy is.

    Arguments:
        copied: the number of records that this call has copied.
        remaining: the number of records that it has still to copy, if the channel knows it.
    """

    copied: int
    remaining: int


def copy_topic(
    source: TopicResource,
    target: TopicResource,
    *,
    contract: Contract | None,
    partition_by: Callable[[Contract], tuple[str, ...]],
    append: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Copy the records of a topic that were not copied before.

    Arguments:
        source: the topic to read; records that are written after the start are not copied.
        target: the topic to write, which exists.
        contract: as for `TopicResource.stretches`.
        partition_by: returns the columns that partition the records of a contract.
        append: whether the target may have other records.
        report: called after each append.

    Returns:
        What was copied.

    Raises:
        CopyError: a channel cannot copy, or the target has other records.
        TopicLostError: a topic does not exist, or the source was created again after an earlier copy.
        WriterFencedError: another copy of the topic is running.
    """
    for topic in (source, target):
        if not topic.traits.copies:
            raise CopyError(f"topics of the channel `{topic.plan.channel}` cannot be copied")
    writer = f"copy/{source.plan.channel}/{source.plan.name}"
    until = source.end()
    contracts = (*source.contracts(), *((contract,) if contract is not None else ()))
    if not contracts:
        return Progress(0, 0)
    with ExitStack() as opened:
        current = contracts[0]
        appender = opened.enter_context(
            target.ordered_appender(current, writer=writer, partition_by=partition_by(current))
        )
        if appender.last is None and not append and target.count(None, target.end()):
            place = f"the topic `{target.plan.name}` on the channel `{target.plan.channel}`"
            raise OtherRecordsError(f"{place} has records that are not of this copy")
        sequence = 0 if appender.last is None else appender.last + 1
        after = Position(appender.marker.decode()) if appender.marker is not None else None
        total, copied = source.count(after, until), 0
        for stretch in source.stretches(after, until, contract):
            if stretch.contract.fingerprint != current.fingerprint:
                opened.close()  # two appenders of a writer would fence each other
                current = stretch.contract
                appender = opened.enter_context(
                    target.ordered_appender(current, writer=writer, partition_by=partition_by(current))
                )
            if not appender.append([stretch.rows], sequence, marker=stretch.end.json.encode()):
                raise CopyError(f"another copy of the topic `{source.plan.name}` is running")
            crash_point("after-copied-records")
            sequence += 1
            copied += stretch.rows.num_rows
            report(Progress(copied, max(0, total - copied)))
    return Progress(copied, 0)
