"""Changes of schemas: what lies in topics must stay readable, and whoever is upgraded later must read what comes."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.inlets import history, outside
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import UNKNOWN_STATE, keeping_state, names, reading, stateful
from blueprint.comparison.schemas import differences, retyped, risks, same_records, unread
from blueprint.spelling import listing


def schemas(pairing: Pairing) -> Iterator[Change]:
    """Ports, in streamlets that stayed or were renamed, that have another schema now."""
    for ref, now in sorted(pairing.streamlets.items()):
        old, new = pairing.old.streamlets[ref], pairing.new.streamlets[now]
        for before, name in sorted(pairing.inlets[ref].items()):
            if not same_records(old.inlets[before].contract, new.inlets[name].contract):
                yield _read(pairing, (ref, before), (now, name))
        for before, name in sorted(pairing.outlets[ref].items()):
            if not same_records(old.outlets[before].contract, new.outlets[name].contract):
                yield _written(pairing, (ref, before), (now, name))


def _read(pairing: Pairing, before: tuple[str, str], now: tuple[str, str]) -> Change:
    old = pairing.old.streamlets[before[0]].inlets[before[1]]
    new = pairing.new.streamlets[now[0]].inlets[now[1]]
    lying = history(pairing, new.topic)
    lost, state = _state_touched(pairing, before, retyped(old.contract, new.contract))
    found = unread(lying, new.contract)
    doubts = [risk for risk in risks(lying, new.contract) if risk not in risks(lying, old.contract)]
    wanted = unread((old.contract,), new.contract) if outside(pairing.old, old.topic) else []
    causes, help = [], [text for one in found for text in one.changes]
    if found:
        needs = ChangeClass.BREAKING
        causes += [
            f"records already in `{new.topic}` can no longer be read",
            *(why for one in found for why in one.causes),
        ]
        help.append(_WORK_OFF)
    else:
        needs = next((needs for needs, holds in (
            (ChangeClass.STATE_LOSS, lost), (ChangeClass.DRAIN, doubts), (ChangeClass.WRITERS_FIRST, wanted)
        ) if holds), ChangeClass.SAFE)  # fmt: skip
    causes += state
    if doubts:
        causes += [f"records already in `{new.topic}` may be read as something else", *doubts]
    if wanted:
        causes += [f"`{new.topic}` is written by others, who must give what is wanted first", *wanted[0].causes]
    if needs is ChangeClass.SAFE:
        causes.append(f"all that lies in `{new.topic}` can be read with it")
    words = differences(old.contract, new.contract)
    return Change(
        "change-schema", needs, f"`{'.'.join(now)}` reads with another schema: {words}",
        ("streamlets", now[0], "inlets", now[1]), ("streamlets", before[0], "inlets", before[1]), lost,
        tuple(causes), tuple(dict.fromkeys(help)),
    )  # fmt: skip


def _state_touched(
    pairing: Pairing, inlet: tuple[str, str], changed: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Queries whose state may hold fields of another type now, and why that matters."""
    streamlet = pairing.old.streamlets[inlet[0]]
    lost = tuple(sorted(set(reading(inlet[0], streamlet, inlet[1])) & set(keeping_state(inlet[0], streamlet))))
    if not changed or not lost:
        return (), ()
    refused = f"where the state of {names(lost)} holds {listing(changed)}, Spark refuses it in another type"
    return lost, (refused, *((UNKNOWN_STATE,) if stateful(streamlet) is None else ()))


def _written(pairing: Pairing, before: tuple[str, str], now: tuple[str, str]) -> Change:
    old = pairing.old.streamlets[before[0]].outlets[before[1]]
    new = pairing.new.streamlets[now[0]].outlets[now[1]]
    needs = ChangeClass.SAFE
    causes: list[str] = []
    behind: list[str] = []
    for (ref, name), inlet in sorted(pairing.old.inlets_of(old.topic).items()):
        for one in unread((new.contract,), inlet.contract):
            behind.append(f"{ref}.{name}")
            causes += [f"`{ref}.{name}` as it was cannot read what is written now", *one.causes]
    if behind:
        needs = ChangeClass.READERS_FIRST
    elif not pairing.old.inlets_of(old.topic) and (missed := unread((new.contract,), old.contract)):
        needs = ChangeClass.READERS_FIRST
        causes += [f"whoever reads `{old.topic}` from outside must be upgraded first", *missed[0].causes]
    else:
        causes.append("all who read it as they were can read what is written now")
    help = (f"upgrade {listing(behind)} first; one application started anew as a whole does that",) if behind else ()
    words = differences(old.contract, new.contract)
    return Change(
        "change-schema", needs, f"`{'.'.join(now)}` writes with another schema: {words}",
        ("streamlets", now[0], "outlets", now[1]), ("streamlets", before[0], "outlets", before[1]), (),
        tuple(causes), help,
    )  # fmt: skip


_WORK_OFF = "or work them off first, on the old blueprint: `flow run --available-now`; later nobody can read them again"
