"""Changes of topics: renamed, in another place, with different settings.

An added or removed topic is not a change by itself: the changes of its ports report it.
"""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedTopic
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import names, reading
from blueprint.settings.secrets import without_secret_differences


def topics(pairing: Pairing) -> Iterator[Change]:
    """Yield the topics that moved or have different settings. Topics of dead letters follow their streamlets."""
    old, new = pairing.old.topics, pairing.new.topics
    for before, now in sorted(pairing.topics.items()):
        if before != now or old[before].place != new[now].place:
            yield _moved(pairing, before, now)
        yield from _settings(before, now, old[before], new[now])


def _moved(pairing: Pairing, before: str, now: str) -> Change:
    old, new = pairing.old.topics[before], pairing.new.topics[now]
    path, was = ("topics", now), ("topics", before)
    renamed = f"the topic `{before}` seems to have been renamed to `{now}`"
    if old.place == new.place:
        cause = f"its records stay in `{new.name}`, so readers continue from their positions"
        return Change("change-topic-moved", ChangeClass.SAFE, renamed, path, was, (), (cause,))
    lost = tuple(
        query
        for ref, name in sorted(pairing.old.inlets_of(before))
        for query in reading(ref, pairing.old.streamlets[ref], name)
        if _reads_on(pairing, ref, name, now)
    )
    moved = f"the topic `{now}` is {_place(new)}, was {_place(old)}"
    causes = [f"earlier records stay in {_place(old)}, where no streamlet reads them"]
    if lost:
        causes.append(f"positions of {names(dict.fromkeys(lost))} refer to the old place, so they fail to start")
    help = [f"keep the place: `topics.{_key(now)}.topic.name = {old.name}`"] if old.channel == new.channel else []
    return Change(
        "change-topic-moved", ChangeClass.STATE_LOSS, moved if before == now else renamed, path, was,
        tuple(dict.fromkeys(lost)), tuple(causes), tuple(help),
    )  # fmt: skip


def _reads_on(pairing: Pairing, ref: str, inlet: str, topic: str) -> bool:
    """Return whether an inlet of the older descriptor reads, under the same name, a topic of the newer one."""
    after = pairing.new.streamlets.get(ref)
    return after is not None and inlet in after.inlets and after.inlets[inlet].topic == topic


def _place(topic: DescribedTopic) -> str:
    place = f"`{topic.name}` on the channel `{topic.channel}`"
    return f"{place} of `{topic.cluster}`" if topic.cluster else place


def _key(id: str) -> str:
    return f'"{id}"' if "." in id else id


_IN_PLACE = ("cluster", "bootstrap.servers", "topic.name")


def _settings(before: str, now: str, old: DescribedTopic, new: DescribedTopic) -> Iterator[Change]:
    if old.managed != new.managed:
        headline = f"the topic `{now}` is {'managed' if new.managed else 'not managed'} by the application now"
        cause = "records and positions stay; the topic must exist before the application starts"
        yield Change(
            "change-topic-settings", ChangeClass.SAFE, headline, ("topics", now, "managed"),
            ("topics", before, "managed"), (), () if new.managed else (cause,),
        )  # fmt: skip
    for key in sorted(set(old.settings) | set(new.settings)):
        was, value = without_secret_differences(old.settings.get(key), new.settings.get(key))
        if was != value and key not in _IN_PLACE:
            yield _setting(before, now, key, was, value)


def _setting(before: str, now: str, key: str, was: object, value: object) -> Change:
    needs = ChangeClass.SAFE
    causes: tuple[str, ...] = ()
    if key == "topic.partitions" and isinstance(was, int) and isinstance(value, int) and value < was:
        needs = ChangeClass.BREAKING
        causes = ("the partitions of a topic cannot be reduced: it would have to be deleted and created again",)
    elif key == "retention.keep-unread" and value is False:
        causes = ("records that a streamlet has not read yet may be deleted",)
    elif key == "durable":
        needs = ChangeClass.DRAIN
        causes = ("whether its producer and its reader are one query changes only between two complete batches",)
    elif key.startswith("retention."):
        causes = ("records beyond the limit are deleted permanently when all known readers have committed them",)
    elif key == "topic.partitions":
        causes = ("new records of a key may be written to a different partition than earlier ones",)
    return Change(
        "change-topic-settings", needs, f"`{key}` of the topic `{now}` is `{_shown(value)}`, was `{_shown(was)}`",
        ("topics", now, "settings", key), ("topics", before, "settings", key), (), causes,
    )  # fmt: skip


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
