"""Rules about transactions, such as the ones of spouts: readers get them whole unless the channel splits them."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.hocon.values import key_span_of
from blueprint.model.draft import Draft
from blueprint.model.wiring import Binding
from blueprint.spelling import listing


def split_transactions(draft: Draft) -> Iterator[Diagnostic]:
    """A reader gets each transaction of a writer in one batch; a channel with partitions cannot grant this always."""
    for id, topic in draft.topics.items():
        traits = draft.channels.get(topic.channel)
        if traits is None or traits.partitions is None:
            continue
        bindings = [binding for binding in draft.wiring.bindings if binding.topic == id]
        writers = [binding for binding in bindings if _writes_transactions(draft, binding)]
        readers = [binding for binding in bindings if binding.key.role == "consumer"]
        if not writers or not readers:
            continue
        concerned = [binding.key.streamlet for binding in writers]
        message = f"a batch may have only a part of a transaction of {listing(s.key.path for s in writers)}"
        for reader in readers:
            if (limit := _limit(draft, reader)) is not None:
                yield finding(
                    "transaction-split",
                    message,
                    Label(limit, f"a limit for the batches of `{reader.key.path}`"),
                    causes=(f"the channel `{topic.channel}` counts records for a limit, not transactions",),
                    help=(f"remove `max-records`, or store `{id}` on another channel",),
                    streamlets=(*concerned, reader.key.streamlet),
                    topics=(id,),
                )
        keyed = [binding for binding in writers if binding.port is not None and binding.port.partition_by]
        if keyed and traits.partitions(topic) != 1:
            yield finding(
                "transaction-split",
                message,
                Label(
                    draft.blueprint.topics[id].key, f"`{keyed[0].key.path}` sends records to partitions by their keys"
                ),
                causes=("a transaction becomes visible in one partition after the other",),
                help=(f"give `{id}` one partition, or remove `partition-by` of `{keyed[0].key.path}`",),
                streamlets=concerned,
                topics=(id,),
            )
        if len(writers) > 1:
            yield finding(
                "transaction-split",
                message,
                Label(draft.blueprint.topics[id].key, f"{len(writers)} streamlets write transactions to this topic"),
                causes=("readers wait for the first of several open transactions, which may cut the others",),
                help=("give each of them a topic of its own",),
                streamlets=concerned,
                topics=(id,),
            )


def _writes_transactions(draft: Draft, binding: Binding) -> bool:
    descriptor = draft.descriptor(binding.key.streamlet)
    return binding.key.role == "producer" and descriptor is not None and descriptor.kind.transactions


def _limit(draft: Draft, binding: Binding) -> Span | None:
    """Return the place where the size of a reader's batches is limited."""
    value = draft.settings.get("streamlets", binding.key.streamlet, "inlets", binding.key.port, "max-records")
    return key_span_of(value) if value is not None else None
