"""Changes of schemas: records in topics must stay readable, and readers upgraded later must read new records."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.avro.model import Contract
from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import ApplicationDescriptor
from blueprint.comparison.inlets import history, outside
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import UNKNOWN_STATE, keeping_state, names, reading, stateful
from blueprint.comparison.schemas import Unread, differences, renamed, retyped, risks, same_records, unread
from blueprint.spelling import listing


def schemas(pairing: Pairing) -> Iterator[Change]:
    """Yield the ports with a different schema, of streamlets that are in both descriptors or were renamed."""
    for ref, now in sorted(pairing.streamlets.items()):
        old, new = pairing.old.streamlets[ref], pairing.new.streamlets[now]
        for before, name in sorted(pairing.inlets[ref].items()):
            if not same_records(old.inlets[before].contract, new.inlets[name].contract):
                yield _read(pairing, (ref, before), (now, name))
        for before, name in sorted(pairing.outlets[ref].items()):
            if not same_records(old.outlets[before].contract, new.outlets[name].contract):
                yield _written(pairing, (ref, before), (now, name))


def outdated_readers(
    application: ApplicationDescriptor, topic: str, contract: Contract
) -> Iterator[tuple[str, Unread]]:
    """Yield the inlets (`streamlet.inlet`) that cannot read records of a schema in a topic, with the reasons.

    Arguments:
        application: the application that the inlets belong to, such as the version that is running.
        topic: the id of the topic.
        contract: the schema of the records.
    """
    for (ref, name), inlet in sorted(application.inlets_of(topic).items()):
        for schema in unread((contract,), inlet.contract):
            yield f"{ref}.{name}", schema


def _read(pairing: Pairing, before: tuple[str, str], now: tuple[str, str]) -> Change:
    old = pairing.old.streamlets[before[0]].inlets[before[1]]
    new = pairing.new.streamlets[now[0]].inlets[now[1]]
    present = history(pairing, new.topic)
    lost, state = _state_touched(pairing, before, retyped(old.contract, new.contract))
    unreadable = unread(present, new.contract)
    doubts = [risk for risk in risks(present, new.contract) if risk not in risks(present, old.contract)]
    emptied = renamed(present, old.contract, new.contract)
    required = unread((old.contract,), new.contract) if outside(pairing.old, old.topic) else []
    causes, help = [], [text for schema in unreadable for text in schema.changes]
    if unreadable:
        needs = ChangeClass.BREAKING
        causes += [
            f"records already in `{new.topic}` can no longer be read",
            *(cause for schema in unreadable for cause in schema.causes),
        ]
        help.append(_PROCESS_FIRST)
    else:
        needs = next((needs for needs, holds in (
            (ChangeClass.STATE_LOSS, lost), (ChangeClass.DRAIN, doubts or emptied),
            (ChangeClass.WRITERS_FIRST, required),
        ) if holds), ChangeClass.SAFE)  # fmt: skip
    causes += state
    if doubts:
        causes += [f"records already in `{new.topic}` may be misinterpreted", *doubts]
    if emptied:
        causes += [
            f"{listing(before)} of records already in `{new.topic}` will not be read, and {listing(now)} will have the "
            "default of the new schema instead"
            for before, now in emptied
        ]
        aliases = [f'give `{now}` an alias: `"aliases": ["{before}"]`' for befores, nows in emptied
                   for before, now in zip(befores, nows, strict=False)]  # fmt: skip
        help += [*aliases, "or process those records first, with the old blueprint: `flow run --available-now`"]
    if required:
        causes += [f"other applications write `{new.topic}`, and must be upgraded first", *required[0].causes]
    if needs is ChangeClass.SAFE:
        causes.append(f"all records in `{new.topic}` can be read with the new schema")
    words = differences(old.contract, new.contract)
    return Change(
        "change-schema", needs, f"`{'.'.join(now)}` reads with a different schema: {words}",
        ("streamlets", now[0], "inlets", now[1]), ("streamlets", before[0], "inlets", before[1]), lost,
        tuple(causes), tuple(dict.fromkeys(help)),
    )  # fmt: skip


def _state_touched(
    pairing: Pairing, inlet: tuple[str, str], changed: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the queries whose state may have fields with a different type, and the reasons why that matters."""
    streamlet = pairing.old.streamlets[inlet[0]]
    lost = tuple(sorted(set(reading(inlet[0], streamlet, inlet[1])) & set(keeping_state(inlet[0], streamlet))))
    if not changed or not lost:
        return (), ()
    rejected = f"if the state of {names(lost)} contains {listing(changed)}, Spark rejects the different type"
    return lost, (rejected, *((UNKNOWN_STATE,) if stateful(streamlet) is None else ()))


def _written(pairing: Pairing, before: tuple[str, str], now: tuple[str, str]) -> Change:
    old = pairing.old.streamlets[before[0]].outlets[before[1]]
    new = pairing.new.streamlets[now[0]].outlets[now[1]]
    needs = ChangeClass.SAFE
    causes: list[str] = []
    outdated: list[str] = []
    for reader, schema in outdated_readers(pairing.old, old.topic, new.contract):
        outdated.append(reader)
        causes += [f"the old version of `{reader}` cannot read the new records", *schema.causes]
    if outdated:
        needs = ChangeClass.READERS_FIRST
    elif not pairing.old.inlets_of(old.topic) and (missed := unread((new.contract,), old.contract)):
        needs = ChangeClass.READERS_FIRST
        causes += [f"other readers of `{old.topic}` must be upgraded first", *missed[0].causes]
    else:
        causes.append("the old versions of all readers can read the new records")
    help = (f"upgrade {listing(outdated)} first; a restart of the whole application does that",) if outdated else ()
    words = differences(old.contract, new.contract)
    return Change(
        "change-schema", needs, f"`{'.'.join(now)}` writes with a different schema: {words}",
        ("streamlets", now[0], "outlets", now[1]), ("streamlets", before[0], "outlets", before[1]), (),
        tuple(causes), help,
    )  # fmt: skip


_PROCESS_FIRST = (
    "or process them first, with the old blueprint: `flow run --available-now`; they cannot be read afterwards"
)
