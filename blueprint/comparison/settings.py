"""Changes of settings: parameters, triggers, retries, Spark's settings, and how ports read and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedStreamlet
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import keeping_state, names, queries_of, stateful
from blueprint.comparison.state import determines
from blueprint.hocon.values import Json
from blueprint.settings.secrets import SECRET

PINNED = frozenset(
    f"spark.sql.{name}"
    for name in (
        "dropDuplicates.deterministicKeyOrder.enabled",
        "function.protobufExtensions.enabled",
        "optimizer.pruneFiltersCanPruneStreamingSubplan",
        "shuffle.partitions",
        "streaming.aggregation.stateFormatVersion",
        "streaming.flatMapGroupsWithState.stateFormatVersion",
        "streaming.join.stateFormatVersion",
        "streaming.multipleWatermarkPolicy",
        "streaming.stateStore.compression.codec",
        "streaming.stateStore.encodingFormat",
        "streaming.stateStore.providerClass",
        "streaming.stateStore.rocksdb.formatVersion",
        "streaming.stateStore.rocksdb.mergeOperatorVersion",
        "streaming.stateStore.rowChecksum.enabled",
        "streaming.statefulOperator.alwaysNullableOutput.enabled",
        "streaming.statefulOperator.useStrictDistribution",
    )
)
"""Settings that Spark keeps in each checkpoint (`OffsetSeqMetadata.relevantSQLConfs`) and takes from there at a
restart, whatever the session says."""

_Values = Mapping[str, Json]


def settings(pairing: Pairing) -> Iterator[Change]:
    """Settings of streamlets that stayed under their names, and of the application."""
    for ref, old, new in pairing.kept:
        if old.class_name == new.class_name:
            yield from _parameters(ref, old, new)
        yield from _plain(ref, old, new)
        yield from _spark(pairing, ref, old.spark, new.spark, ("streamlets", ref, "spark"))
        yield from _port_settings(pairing, ref, old, new)
        if old.source_evolution != new.source_evolution:
            yield _evolution(ref, old, new)
    yield from _spark(pairing, None, pairing.old.spark, pairing.new.spark, ("spark",))


def _differing(old: _Values, new: _Values) -> Iterator[tuple[str, Json, Json]]:
    """Keys with the older and the newer value; what is secret cannot be compared."""
    for key in sorted(set(old) | set(new)):
        if old.get(key) != new.get(key) and SECRET not in (old.get(key), new.get(key)):
            yield key, old.get(key), new.get(key)


def _parameters(ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    for key, then, here in _differing(old.parameters, new.parameters):
        path = ("streamlets", ref, "parameters", key)
        causes = ["it holds for what comes from now on; what was written stays"]
        if stateful(old) is not False and old.inlets:
            kept = names(keeping_state(ref, old))
            verb = "keeps" if stateful(old) else "may keep"
            causes.append(f"what {kept} {verb} in state was made with the old value")
        lost = _of_windows(ref, then, old, new)
        if lost:
            causes = [f"{_value(then)} is the length of a window of {names(lost)}: windows of both lengths would mix"]
        yield Change(
            "change-parameter", ChangeClass.STATE_LOSS if lost else ChangeClass.SAFE,
            f"the parameter `{key}` of `{ref}` is {_value(here)}, was {_value(then)}", path, path, lost, tuple(causes),
            ("compare with `--plans`, which knows the windows of the new version",) if lost else (),
        )  # fmt: skip


def _of_windows(ref: str, value: Json, old: DescribedStreamlet, new: DescribedStreamlet) -> tuple[str, ...]:
    """Return the queries with a window of the length that a parameter had; of the newer ones where they are known."""
    if new.queries is not None:
        return ()
    return tuple(f"{ref}.{name}" for name, query in sorted((old.queries or {}).items()) if determines(value, query))


def _plain(ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    """Yield what is read at each start and kept nowhere."""
    triggers = _differing({"": old.trigger, **old.triggers}, {"": new.trigger, **new.triggers})
    for query, then, here in triggers:
        whose = f"`{ref}.{query}`" if query else f"`{ref}`"
        path = ("streamlets", ref, "triggers", query) if query else ("streamlets", ref, "trigger")
        said = f"the trigger of {whose} is {_value(here)}, was {_value(then)}"
        yield Change("change-trigger", ChangeClass.SAFE, said, path, path)
    for key, then, here in _differing(old.retry, new.retry):
        path = ("streamlets", ref, "retry", key)
        said = f"`retry.{key}` of `{ref}` is {_value(here)}, was {_value(then)}"
        yield Change("change-retry", ChangeClass.SAFE, said, path, path)
    for key, then, here in _differing(old.volume_mounts, new.volume_mounts):
        path = ("streamlets", ref, "volume-mounts", key)
        said = f"`{ref}` finds the volume mount `{key}` in {_value(here)}, no longer in {_value(then)}"
        yield Change("change-volume-mount", ChangeClass.SAFE, said, path, path, (), ("files are not brought along",))


def _spark(pairing: Pairing, ref: str | None, old: _Values, new: _Values, path: tuple[str, ...]) -> Iterator[Change]:
    whose = f"`{ref}`" if ref is not None else "the application"
    for key, then, here in _differing(old, new):
        causes, help = [], []
        if key in PINNED:
            kept = [
                query
                for name, one in sorted(pairing.old.streamlets.items())
                if ref in (None, name) and name in pairing.new.streamlets
                for query in queries_of(name, one)
            ]
            if kept:
                causes.append(f"it changes nothing for {names(kept)}: a checkpoint keeps the value it was begun with")
                help.append("it takes effect where a checkpoint is begun anew")
        yield Change(
            "change-spark-setting", ChangeClass.SAFE, f"`{key}` of {whose} is {_value(here)}, was {_value(then)}",
            (*path, key), (*path, key), (), tuple(causes), tuple(help),
        )  # fmt: skip


def _port_settings(pairing: Pairing, ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    for before, now in sorted(pairing.inlets[ref].items()):
        one, other = old.inlets[before], new.inlets[now]
        cause = "a reader that has a position goes on from it"
        for key, then, here in (
            ("starting", one.starting, other.starting),
            ("max-records", one.max_records, other.max_records),
        ):
            if then != here:
                yield _port(ref, ("inlets", before, now), key, then, here, cause if key == "starting" else "")
    for before, now in sorted(pairing.outlets[ref].items()):
        source, target = old.outlets[before], new.outlets[now]
        layout = "records are laid out anew from now on, in a table of their own; those that are there stay as they are"
        broken = "a row that breaks the contract is treated so from now on"
        for key, was, will, why in (
            ("partition-by", ", ".join(source.partition_by) or None, ", ".join(target.partition_by) or None, layout),
            ("on-invalid", source.on_invalid, target.on_invalid, broken),
            ("extra", source.extra, target.extra, ""),
        ):
            if was != will:
                yield _port(ref, ("outlets", before, now), key, was, will, why)


def _port(ref: str, where: tuple[str, str, str], key: str, then: Json, here: Json, cause: str) -> Change:
    side, before, now = where
    return Change(
        "change-port-settings", ChangeClass.SAFE,
        f"`{key}` of `{ref}.{now}` is {_value(here)}, was {_value(then)}",
        ("streamlets", ref, side, now, key), ("streamlets", ref, side, before, key), (), (cause,) if cause else (),
    )  # fmt: skip


def _evolution(ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    path = ("streamlets", ref, "source-evolution")
    here, then = str(new.source_evolution).lower(), str(old.source_evolution).lower()
    return Change(
        "change-source-evolution", ChangeClass.STATE_LOSS, f"`source-evolution` of `{ref}` is `{here}`, was `{then}`",
        path, path, queries_of(ref, old),
        ("a checkpoint is begun with names for its sources or without: it cannot go on the other way",),
        (f"keep `source-evolution = {then}`",),
    )  # fmt: skip


def _value(value: Json) -> str:
    return "not set" if value is None else f"`{value if not isinstance(value, bool) else str(value).lower()}`"
