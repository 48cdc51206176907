"""Changes of streamlets as a whole: added, removed, renamed, of another class, with other queries."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedStreamlet
from blueprint.comparison.inlets import history, outside, starting_words
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import UNKNOWN_STATE, keeping_state, names, queries_of, state_words, stateful
from blueprint.comparison.schemas import unread
from blueprint.diagnostics.report import counted


def application(pairing: Pairing) -> Iterator[Change]:
    """Another name of the application is another state folder."""
    old, new = pairing.old, pairing.new
    if old.application and old.application != new.application:
        queries = tuple(one for ref, each in sorted(old.streamlets.items()) for one in queries_of(ref, each))
        yield Change(
            "change-application",
            ChangeClass.STATE_LOSS,
            f"the application is called `{new.application}`, no longer `{old.application}`",
            ("application",),
            ("application",),
            queries,
            ("the state folder is named after the application: all topics and checkpoints are begun anew",),
            (f"set `flow.application = {old.application}`, or rename the state folder while nothing runs",),
        )


def streamlets(pairing: Pairing) -> Iterator[Change]:
    """Streamlets that came, went, were renamed or are of another class."""
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
            for one in unread(written, inlet.contract):
                needs = ChangeClass.BREAKING
                causes.append(f"`{ref}.{name}` cannot read what already lies in `{inlet.topic}`")
                causes += one.causes
                help += one.changes or (f"set `starting = latest` for `{ref}.{name}`",)
        causes.append(starting_words(f"{ref}.{name}", inlet))
        if needs is ChangeClass.SAFE and outside(pairing.new, inlet.topic) and inlet.topic not in pairing.old_topics:
            needs = ChangeClass.WRITERS_FIRST
            causes.append(f"the application does not make the topic `{inlet.topic}`: it must be there")
    headline = f"the streamlet `{ref}` is new"
    path = ("streamlets", ref)
    return Change("change-streamlet-added", needs, headline, path, (), (), tuple(causes), tuple(dict.fromkeys(help)))


def _removed(ref: str, streamlet: DescribedStreamlet) -> Change:
    causes = []
    needs = ChangeClass.DRAIN if streamlet.inlets else ChangeClass.SAFE
    if streamlet.inlets:
        causes.append("what it has not read yet is read by nobody")
    lost: tuple[str, ...] = ()
    if stateful(streamlet):
        needs, lost = ChangeClass.STATE_LOSS, keeping_state(ref, streamlet)
        causes.append(f"what {state_words(streamlet)} still holds back goes with it")
    causes.append("its checkpoints stay in the state folder; a streamlet of its name and class would go on from them")
    help = ("work off what there is first, on the old blueprint: `flow run --available-now`",)
    return Change(
        "change-streamlet-removed", needs, f"the streamlet `{ref}` is gone", (), ("streamlets", ref), lost,
        tuple(causes), help if streamlet.inlets else (),
    )  # fmt: skip


def _renamed(before: str, now: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    causes = [f"checkpoints are named after their streamlet: those of `{before}` are not found by `{now}`"]
    if old.inlets:
        causes += [starting_words(f"{now}.{name}", inlet) for name, inlet in sorted(new.inlets.items())]
        causes.append("what it wrote already, it writes again")
    elif old.outlets:
        causes.append("it reads its sources from their beginning, and writes again what it wrote already")
    return Change(
        "change-streamlet-renamed",
        ChangeClass.STATE_LOSS,
        f"the streamlet `{before}` seems to be called `{now}` now",
        ("streamlets", now),
        ("streamlets", before),
        queries_of(before, old),
        tuple(causes),
        (
            f"keep the name `{before}`",
            f"or rename the folder `checkpoints/{before}` to `{now}` once the application is stopped",
        ),
    )


def _class(before: str, now: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    moved = old.class_name.rpartition(".")[2] == new.class_name.rpartition(".")[2]
    headline = f"`{now}` is a `{new.class_name}` now, no longer a `{old.class_name}`"
    path, was = ("streamlets", now, "class"), ("streamlets", before, "class")
    if moved and set(old.inlets) == set(new.inlets) and set(old.outlets) == set(new.outlets):
        cause = "only the module differs, and the ports are the same: it is taken for the same class in another place"
        return Change("change-class", ChangeClass.SAFE, headline, path, was, (), (cause,))
    if stateful(old) is False:
        causes = (f"{_keeps(old)}, so its checkpoints hold nothing but positions, which the new class goes on from",
                  "a batch that was begun by the old class must not be finished by the new one")  # fmt: skip
        return Change("change-class", ChangeClass.DRAIN, headline, path, was, (), causes, (_STOP,))
    causes = (
        f"the state of {names(keeping_state(before, old))} was made by other logic: Spark refuses it, or misreads it",
        *((UNKNOWN_STATE,) if stateful(old) is None else ()),
    )
    help = ("give the new class another name, beside the old one, until the old one's windows and joins are closed",)
    lost = keeping_state(before, old)
    return Change("change-class", ChangeClass.STATE_LOSS, headline, path, was, lost, causes, help)


def _keeps(streamlet: DescribedStreamlet) -> str:
    count = len(streamlet.queries or {})
    return f"its {counted(count, 'query', 'queries')} {'keeps' if count == 1 else 'keep'} no state"


_STOP = "stop the old application in good order (`flow stop`, Ctrl-C or SIGTERM once) before the new one starts"
