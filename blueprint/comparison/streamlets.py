"""Changes of the application and of whole streamlets: added, removed, renamed, with another class."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedStreamlet
from blueprint.comparison.inlets import history, outside, starting_words
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import (
    PROCESS_FIRST,
    UNKNOWN_STATE,
    keeping_state,
    moved,
    names,
    queries_of,
    state_words,
    stateful,
)
from blueprint.comparison.schemas import unread
from blueprint.wording import counted


def application(pairing: Pairing) -> Iterator[Change]:
    """Yield a change of the application's name, which names the state directory."""
    old, new = pairing.old, pairing.new
    if old.application and old.application != new.application:
        queries = tuple(
            query for ref, streamlet in sorted(old.streamlets.items()) for query in queries_of(ref, streamlet)
        )
        yield Change(
            "change-application",
            ChangeClass.STATE_LOSS,
            f"the application is named `{new.application}`, was `{old.application}`",
            ("application",),
            ("application",),
            queries,
            ("the state directory is named after the application, so all topics and checkpoints start from scratch",),
            (f"set `flow.application = {old.application}`, or stop the application, and rename the state directory",),
        )


def streamlets(pairing: Pairing) -> Iterator[Change]:
    """Yield the streamlets that were added, removed or renamed, or have another class."""
    old, new = pairing.old.streamlets, pairing.new.streamlets
    for ref in sorted(set(new) - set(pairing.streamlets.values())):
        yield _added(pairing, ref)
    for ref in sorted(set(old) - set(pairing.streamlets)):
        yield _removed(ref, old[ref])
    for before, now in sorted(pairing.streamlets.items()):
        if before != now:
            yield _renamed(before, now, old[before], new[now])
        if old[before].class_name != new[now].class_name:
            yield _class(before, now, old[before], new[now])


def _added(pairing: Pairing, ref: str) -> Change:
    streamlet = pairing.new.streamlets[ref]
    needs = ChangeClass.SAFE
    causes: list[str] = []
    help: list[str] = []
    for name, inlet in sorted(streamlet.inlets.items()):
        written = history(pairing, inlet.topic)
        if inlet.starting == "earliest":
            for schema in unread(written, inlet.contract):
                needs = ChangeClass.BREAKING
                causes.append(f"`{ref}.{name}` cannot read records already in `{inlet.topic}`")
                causes += schema.causes
                help += schema.changes or (f"set `starting = latest` for `{ref}.{name}`",)
        causes.append(starting_words(f"{ref}.{name}", inlet))
        if needs is ChangeClass.SAFE and outside(pairing.new, inlet.topic) and inlet.topic not in pairing.old_topics:
            needs = ChangeClass.WRITERS_FIRST
            causes.append(f"the application does not create the topic `{inlet.topic}`, which must exist")
    headline = f"the streamlet `{ref}` is new"
    path = ("streamlets", ref)
    return Change("change-streamlet-added", needs, headline, path, (), (), tuple(causes), tuple(dict.fromkeys(help)))


def _removed(ref: str, streamlet: DescribedStreamlet) -> Change:
    causes = []
    needs = ChangeClass.DRAIN if streamlet.inlets else ChangeClass.SAFE
    if streamlet.inlets:
        causes.append("its unread records will not be read")
    lost: tuple[str, ...] = ()
    if stateful(streamlet):
        needs, lost = ChangeClass.STATE_LOSS, keeping_state(ref, streamlet)
        causes.append(f"pending rows of {state_words(streamlet)} are lost")
    causes.append(
        "its checkpoints stay in the state directory; a streamlet with the same name and class would continue from them"
    )
    return Change(
        "change-streamlet-removed", needs, f"the streamlet `{ref}` was removed", (), ("streamlets", ref), lost,
        tuple(causes), (PROCESS_FIRST,) if streamlet.inlets else (),
    )  # fmt: skip


def _renamed(before: str, now: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    causes = [f"checkpoints are named after streamlets, so `{now}` does not continue where `{before}` stopped"]
    if old.inlets:
        causes += [starting_words(f"{now}.{name}", inlet) for name, inlet in sorted(new.inlets.items())]
        causes.append("it writes its earlier output again")
    elif old.outlets:
        causes.append("it reads its sources from the beginning, and writes its earlier output again")
    return Change(
        "change-streamlet-renamed",
        ChangeClass.STATE_LOSS,
        f"the streamlet `{before}` seems to have been renamed to `{now}`",
        ("streamlets", now),
        ("streamlets", before),
        queries_of(before, old),
        tuple(causes),
        (
            f"keep the name `{before}`",
            f"or stop the application, and rename the directory `checkpoints/{before}` to `{now}`",
        ),
    )


def _class(before: str, now: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    headline = f"the class of `{now}` is `{new.class_name}`, was `{old.class_name}`"
    path, was = ("streamlets", now, "class"), ("streamlets", before, "class")
    if moved(old, new):
        cause = "only the module differs and the ports are the same, so it is regarded as the same class"
        return Change("change-class", ChangeClass.SAFE, headline, path, was, (), (cause,))
    if stateful(old) is False:
        causes = (f"{_stateless(old)}, so its checkpoints have only positions, from which the new class continues",
                  "a batch that was started by the old class must not be finished by the new one")  # fmt: skip
        return Change("change-class", ChangeClass.DRAIN, headline, path, was, (), causes, (_STOP,))
    causes = (
        f"the state of {names(keeping_state(before, old))} is of different logic: Spark rejects or misinterprets it",
        *((UNKNOWN_STATE,) if stateful(old) is None else ()),
    )
    help = ("add the new class under another name, and remove the old streamlet when its windows and joins are closed",)
    lost = keeping_state(before, old)
    return Change("change-class", ChangeClass.STATE_LOSS, headline, path, was, lost, causes, help)


def _stateless(streamlet: DescribedStreamlet) -> str:
    count = len(streamlet.queries or {})
    return f"its {counted(count, 'query', 'queries')} {'keeps' if count == 1 else 'keep'} no state"


_STOP = "stop the old application gracefully (`flow stop`, Ctrl-C or SIGTERM once) before the new one starts"
