"""Changes of topics: called otherwise, in another place, with other settings.

That a topic came or went is told by the ports that came with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedTopic
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import names, reading
from blueprint.settings.secrets import SECRET


def topics(pairing: Pairing) -> Iterator[Change]:
    """Topics that moved or have other settings; topics of dead letters follow their streamlets."""
    old, new = pairing.old.topics, pairing.new.topics
    for before, now in sorted(pairing.topics.items()):
        if before != now or old[before].place != new[now].place:
            yield _moved(pairing, before, now)
        yield from _settings(before, now, old[before], new[now])


def _moved(pairing: Pairing, before: str, now: str) -> Change:
    old, new = pairing.old.topics[before], pairing.new.topics[now]
    path, was = ("topics", now), ("topics", before)
    renamed = f"the topic `{before}` seems to be called `{now}` now"
    if old.place == new.place:
        cause = f"its records still lie in `{new.name}`: readers go on where they are"
        return Change("change-topic-moved", ChangeClass.SAFE, renamed, path, was, (), (cause,))
    lost = tuple(
        query
        for ref, name in sorted(pairing.old.inlets_of(before))
        for query in reading(ref, pairing.old.streamlets[ref], name)
        if _reads_on(pairing, ref, name, now)
    )
    moved = f"the topic `{now}` lies in {_place(new)} now, no longer in {_place(old)}"
    causes = [f"what was written stays in {_place(old)}, where nobody looks for it"]
    if lost:
        causes.append(f"positions of {names(dict.fromkeys(lost))} are of the old place: they refuse to start")
    help = [f"keep the place: `topics.{_key(now)}.topic.name = {old.name}`"] if old.channel == new.channel else []
    return Change(
        "change-topic-moved", ChangeClass.STATE_LOSS, moved if before == now else renamed, path, was,
        tuple(dict.fromkeys(lost)), tuple(causes), tuple(help),
    )  # fmt: skip


def _reads_on(pairing: Pairing, ref: str, inlet: str, topic: str) -> bool:
    """Return whether an inlet of the older descriptor reads the topic in the newer one, too, under its name."""
    after = pairing.new.streamlets.get(ref)
    return after is not None and inlet in after.inlets and after.inlets[inlet].topic == topic


def _place(topic: DescribedTopic) -> str:
    there = f"`{topic.name}` on the channel `{topic.channel}`"
    return f"{there} of `{topic.cluster}`" if topic.cluster else there


def _key(id: str) -> str:
    return f'"{id}"' if "." in id else id


_IN_PLACE = ("cluster", "bootstrap.servers", "topic.name")


def _settings(before: str, now: str, old: DescribedTopic, new: DescribedTopic) -> Iterator[Change]:
    if old.managed != new.managed:
        said = "the application makes the topic `{}` now" if new.managed else "somebody else makes the topic `{}` now"
        cause = "records and positions stay; it must be there before the application starts" if not new.managed else ""
        yield Change(
            "change-topic-settings", ChangeClass.SAFE, said.format(now), ("topics", now, "managed"),
            ("topics", before, "managed"), (), (cause,) if cause else (),
        )  # fmt: skip
    for key in sorted(set(old.settings) | set(new.settings)):
        then, here = old.settings.get(key), new.settings.get(key)
        if then != here and key not in _IN_PLACE and SECRET not in (then, here):
            yield _setting(before, now, key, then, here)


def _setting(before: str, now: str, key: str, then: object, here: object) -> Change:
    needs = ChangeClass.SAFE
    causes: tuple[str, ...] = ()
    if key == "topic.partitions" and isinstance(then, int) and isinstance(here, int) and here < then:
        needs = ChangeClass.BREAKING
        causes = ("a topic cannot be cut into fewer parts: it would have to be deleted and made again",)
    elif key == "retention.keep-unread" and here is False:
        causes = ("records may go that a streamlet has not read yet",)
    elif key.startswith("retention."):
        causes = ("what it leaves no room for goes for good, once all known readers have committed it",)
    elif key == "topic.partitions":
        causes = ("records of one key may come to another partition than those before",)
    return Change(
        "change-topic-settings", needs, f"`{key}` of the topic `{now}` is `{_shown(here)}`, was `{_shown(then)}`",
        ("topics", now, "settings", key), ("topics", before, "settings", key), (), causes,
    )  # fmt: skip


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
