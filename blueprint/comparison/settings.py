"""Changes of settings: parameters, triggers, restarts, Spark settings, and settings of ports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedOutlet, DescribedStreamlet
from blueprint.comparison.meaning import changes_meaning
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import keeping_state, names, queries_of, stateful
from blueprint.comparison.state import determines
from blueprint.hocon.values import Json
from blueprint.settings.secrets import without_secret_differences

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
"""Settings that Spark stores in each checkpoint (`OffsetSeqMetadata.relevantSQLConfs`). After a restart it uses the
stored values, not the values of the session."""

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

_DISCOVERY, _TASK_VERSION = "discovery", "task-version"
"""The parameters of batch sources whose changes are classed by themselves."""

_ONLY_WITH_PLANS = "what it changes in queries and their state is only compared with `--plans`"
_COMPARE_WITH_PLANS = "add `--plans`, which compares the logic; `flow run` compares it when each query starts"

_DEFAULT = "the default"

_SOURCE = "streamlets.Source"
_DRAINED = (
    "have the old version read all tasks, with `flow run --available-now`; `flow tasks` counts those that wait",
)

_GUARANTEE, _EXACTLY_ONCE = "guarantee", "exactly-once"

_OF_END = ("records and state stay as they are; it decides only whether the streamlet ends by itself",)

_OF_OPENING = "it decides when the streamlet starts; records and state stay as they are"

_Values = Mapping[str, Json]


def settings(pairing: Pairing) -> Iterator[Change]:
    """Yield the changes of settings of the application, and of streamlets that are in both descriptors by name."""
    for ref, old, new in pairing.kept:
        if old.class_name == new.class_name:
            yield from _parameters(ref, old, new)
        yield from _restart_settings(ref, old, new)
        yield from _spark(pairing, ref, old.spark, new.spark, ("streamlets", ref, "spark"))
        yield from _port_settings(pairing, ref, old, new)
        if old.replicas != new.replicas:
            yield _replicas(pairing, ref, old, new)
        if old.source_evolution != new.source_evolution:
            yield _evolution(ref, old, new)
    yield from _spark(pairing, None, pairing.old.spark, pairing.new.spark, ("spark",))


def _differing(old: _Values, new: _Values) -> Iterator[tuple[str, Json, Json]]:
    """Yield the keys with different values, with the older and the newer value. Secrets cannot be compared."""
    for key in sorted(set(old) | set(new)):
        was, now = without_secret_differences(old.get(key), new.get(key))
        if was != now:
            yield key, was, now


def _parameters(ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    for key, was, now in _differing(old.parameters, new.parameters):
        path = ("streamlets", ref, "parameters", key)
        if _TASK_VERSION in new.parameters and _TASK_VERSION in old.parameters and key in (_TASK_VERSION, _DISCOVERY):
            yield _discovery(ref, was, now, path) if key == _DISCOVERY else _task_version(ref, was, now, path)
            continue
        if old.class_name == _SOURCE and key == "from":
            headline = f"the source of `{ref}` is {_value(now)}, was {_value(was)}"
            causes = [f"tasks that wait are of {_value(was)}, and the new source is to read them"]
            yield Change("change-tasks", ChangeClass.DRAIN, headline, path, path, (), tuple(causes), _DRAINED)
            continue
        causes = ["it applies to new records; earlier output stays unchanged"]
        if stateful(old) is not False and old.inlets:
            kept = names(keeping_state(ref, old))
            verb = "was" if stateful(old) else "may have been"
            causes.append(f"the state of {kept} {verb} computed with the old value")
        needs = ChangeClass.SAFE
        if new.queries is None and _may_keep(old, statements=_has_lines(was) or _has_lines(now)):
            needs = ChangeClass.UNKNOWN
        headline = f"the parameter `{key}` of `{ref}` is {_value(now)}, was {_value(was)}"
        if _has_lines(was) or _has_lines(now):
            headline = f"the parameter `{key}` of `{ref}` has a different text"
        if needs is ChangeClass.UNKNOWN:
            causes.append(_ONLY_WITH_PLANS)
        lost = _of_windows(ref, was, old, new)
        if lost:
            causes = [
                f"{_value(was)} is the length of a window of {names(lost)}: its state would mix windows of both lengths"
            ]
        yield Change(
            "change-parameter", ChangeClass.STATE_LOSS if lost else needs, headline, path, path, lost, tuple(causes),
            ("compare with `--plans`, which knows the windows of the new version",) if lost
            else (_COMPARE_WITH_PLANS,) if needs is ChangeClass.UNKNOWN else (),
        )  # fmt: skip


def _discovery(ref: str, was: Json, now: Json, path: tuple[str, ...]) -> Change:
    """Return the change of the triggerer of a batch source, or of its configuration."""
    named = [value.get("triggerer") if isinstance(value, Mapping) else None for value in (was, now)]
    before, after = (_DEFAULT if triggerer is None else _value(triggerer) for triggerer in named)
    headline = f"the triggerer of `{ref}` is {after}, was {before}"
    causes = ["tasks that wait are kept, and tasks with known keys are not read again"]
    if before == after:
        headline = f"the configuration of the triggerer{'' if after == _DEFAULT else f' {after}'} of `{ref}` changed"
    else:
        causes.append(f"an interrupted discovery runs again with its event, which is an event of {before}")
    return Change("change-discovery", ChangeClass.SAFE, headline, path, path, (), tuple(causes))


def _task_version(ref: str, was: Json, now: Json, path: tuple[str, ...]) -> Change:
    """Return the change of the form of the tasks and keys of a batch source."""
    return Change(
        "change-tasks", ChangeClass.DRAIN, f"the tasks of `{ref}` have the version {_value(now)}, had {_value(was)}",
        path, path, (),
        (
            f"tasks that wait have the version {_value(was)}, and the new version is to read them",
            "what has keys in another form than before is discovered and read again",
        ),
        _DRAINED,
    )  # fmt: skip


def _has_lines(value: Json) -> bool:
    """Return whether a value is a text of several lines, such as the statements of a job."""
    return isinstance(value, str) and "\n" in value


def _of_windows(ref: str, value: Json, old: DescribedStreamlet, new: DescribedStreamlet) -> tuple[str, ...]:
    """Return the queries with a window of the length that a parameter had; of the newer ones where they are known."""
    if new.queries is not None:
        return ()
    return tuple(f"{ref}.{name}" for name, query in sorted((old.queries or {}).items()) if determines(value, query))


def _restart_settings(ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    """Yield the changes of settings that are read at each start and not stored in a checkpoint."""
    triggers = _differing({"": old.trigger, **old.triggers}, {"": new.trigger, **new.triggers})
    for query, was, now in triggers:
        whose = f"`{ref}.{query}`" if query else f"`{ref}`"
        path = ("streamlets", ref, "triggers", query) if query else ("streamlets", ref, "trigger")
        headline = f"the trigger of {whose} is {_value(now)}, was {_value(was)}"
        yield Change("change-trigger", ChangeClass.SAFE, headline, path, path)
    for key, was, now in _differing(old.retry, new.retry):
        path = ("streamlets", ref, "retry", key)
        headline = f"`retry.{key}` of `{ref}` is {_value(now)}, was {_value(was)}"
        yield Change("change-retry", ChangeClass.SAFE, headline, path, path)
    for key, was, now in _differing(old.supervision, new.supervision):
        place = ("streamlets", ref, "supervision", key)
        headline = f"`{key}` of `{ref}` is {_value(now, _DEFAULT)}, was {_value(was, _DEFAULT)}"
        causes = _OF_END if key == "end" else ()
        yield Change("change-supervision", ChangeClass.SAFE, headline, place, place, (), causes)
    for key, was, now in _differing(old.volume_mounts, new.volume_mounts):
        path = ("streamlets", ref, "volume-mounts", key)
        headline = f"the volume mount `{key}` of `{ref}` is {_value(now)}, was {_value(was)}"
        causes = ("existing files are not moved",)
        yield Change("change-volume-mount", ChangeClass.SAFE, headline, path, path, (), causes)


def _replicas(pairing: Pairing, ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    """Return the change of the number of replicas, which a checkpoint has only as the number of tasks with state."""
    path = ("streamlets", ref, "replicas")
    headline = f"`replicas` of `{ref}` is {_value(new.replicas)}, was {_value(old.replicas)}"
    causes, help = ["the next batches have so many tasks; positions and records do not depend on their number"], []
    if stateful(old) is not False and old.inlets:
        whose = f"{names(keeping_state(ref, old))}{'' if stateful(old) else ', if there is any,'}"
        causes.append(f"the state of {whose} keeps its number of tasks, which Spark stores in the checkpoint")
        if _SHUFFLE_PARTITIONS not in {**pairing.new.spark, **new.spark}:
            help.append("reset the checkpoint for as many tasks with state as replicas; the state is lost by that")
    return Change("change-replicas", ChangeClass.SAFE, headline, path, path, (), tuple(causes), tuple(help))


def _spark(pairing: Pairing, ref: str | None, old: _Values, new: _Values, path: tuple[str, ...]) -> Iterator[Change]:
    whose = f"`{ref}`" if ref is not None else "the application"
    for key, was, now in _differing(old, new):
        causes, help = [], []
        if key in PINNED:
            kept = [
                query
                for name, streamlet in sorted(pairing.old.streamlets.items())
                if ref in (None, name) and name in pairing.new.streamlets
                for query in queries_of(name, streamlet)
            ]
            if kept:
                causes.append(
                    f"it does not affect {names(kept)}: a checkpoint keeps the value with which it was created"
                )
                help.append("reset the checkpoint for the setting to take effect")
        kept = _of_unknown_meaning(pairing, ref, key)
        if kept:
            causes.append(f"it changes what expressions mean, and {names(kept)} may have their results in state")
            causes.append(_ONLY_WITH_PLANS)
            help.append(_COMPARE_WITH_PLANS)
        yield Change(
            "change-spark-setting", ChangeClass.UNKNOWN if kept else ChangeClass.SAFE,
            f"`{key}` of {whose} is {_value(now)}, was {_value(was)}",
            (*path, key), (*path, key), (), tuple(causes), tuple(help),
        )  # fmt: skip


def _of_unknown_meaning(pairing: Pairing, ref: str | None, key: str) -> list[str]:
    """Return the queries with results in state of which it is not known whether a setting changes their meaning."""
    return [
        query
        for name, old, new in pairing.kept
        if changes_meaning(key) and ref in (None, name) and new.queries is None and _may_keep(old)
        for query in keeping_state(name, old)
    ]


def _may_keep(streamlet: DescribedStreamlet, *, statements: bool = False) -> bool:
    """Return whether a streamlet keeps state or may do so. One without inlets rarely does, but its statements may."""
    keeps = stateful(streamlet)
    return bool(streamlet.inlets) or statements if keeps is None else keeps


def _port_settings(pairing: Pairing, ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    for before, now in sorted(pairing.inlets[ref].items()):
        old_inlet, new_inlet = old.inlets[before], new.inlets[now]
        starting = "a reader with a position continues from it"
        for key, was, value, cause in (
            ("starting", old_inlet.starting, new_inlet.starting, starting),
            ("max-records", old_inlet.max_records, new_inlet.max_records, ""),
            ("on-invalid", old_inlet.on_invalid, new_inlet.on_invalid, "it applies to data that is read from now on"),
        ):
            if was != value:
                yield _port(ref, ("inlets", before, now), key, was, value, cause)
        for key, earlier, later in _differing(old_inlet.opening, new_inlet.opening):
            yield _opening(ref, ("inlets", before, now), key, later, earlier)
    for before, now in sorted(pairing.outlets[ref].items()):
        source, target = old.outlets[before], new.outlets[now]
        layout = "new records are partitioned differently, in a separate table; existing records stay as they are"
        invalid = "it applies to new rows that violate the contract"
        for key, was, value, cause in (
            ("partition-by", ", ".join(source.partition_by) or None, ", ".join(target.partition_by) or None, layout),
            ("on-invalid", source.on_invalid, target.on_invalid, invalid),
            ("extra", source.extra, target.extra, ""),
        ):
            if was != value:
                yield _port(ref, ("outlets", before, now), key, was, value, cause)
        if (source.returns, source.otherwise) != (target.returns, target.otherwise):
            yield _returns(ref, before, now, source, target)
        for key, earlier, later in _differing(source.opening, target.opening):
            yield _opening(ref, ("outlets", before, now), key, later, earlier)
        for key, earlier, later in _differing(source.channel, target.channel):
            yield _of_channel(ref, (before, now), key, later, earlier)


def _of_channel(ref: str, place: tuple[str, str], key: str, value: Json, was: Json) -> Change:
    """Return the change of a setting that the channel of an outlet's topic adds."""
    before, now = place
    transactions = key == _GUARANTEE and value == _EXACTLY_ONCE
    cause = "it applies to batches that begin after the change; a batch that was begun is finished as before"
    if transactions:
        cause = "a batch that is not committed may have been sent in part, and is sent again"
    return Change(
        "change-port-settings", ChangeClass.DRAIN if transactions else ChangeClass.SAFE,
        f"`{key}` of `{ref}.{now}` is {_value(value, _DEFAULT)}, was {_value(was, _DEFAULT)}",
        ("streamlets", ref, "outlets", now, key), ("streamlets", ref, "outlets", before, "channel", key), (), (cause,),
        ("stop the application with `flow stop`, which completes each batch",) if transactions else (),
    )  # fmt: skip


def _returns(ref: str, before: str, now: str, old: DescribedOutlet, new: DescribedOutlet) -> Change:
    """Return the change of the condition under which the records of an outlet return into a cycle."""
    causes = ["records that are in the cycle already are judged when they come to the outlet again"]
    if new.returns is None:
        causes = ["nothing but the logic keeps a record from circulating for ever"]
    elif new.otherwise is None:
        causes.append("the records that leave become dead letters")
    else:
        causes.append(f"the records that leave go to the outlet `{new.otherwise}`")
    return Change(
        "change-port-settings", ChangeClass.NEW_RECORDS,
        f"the records of `{ref}.{now}` that return into its cycle are {_value(new.returns)}, were {_value(old.returns)}"
        if old.returns != new.returns
        else f"`else` of `{ref}.{now}` in `allow-cycles` is {_value(new.otherwise)}, was {_value(old.otherwise)}",
        ("streamlets", ref, "outlets", now), ("streamlets", ref, "outlets", before), (), tuple(causes),
    )  # fmt: skip


def _opening(ref: str, place: tuple[str, str, str], key: str, value: Json, was: Json) -> Change:
    side, before, now = place
    return Change(
        "change-port-settings", ChangeClass.SAFE,
        f"`{key}` of `{ref}.{now}` is {_value(value, _DEFAULT)}, was {_value(was, _DEFAULT)}",
        ("streamlets", ref, side, now, key), ("streamlets", ref, side, before, "opening", key), (), (_OF_OPENING,),
    )  # fmt: skip


def _port(ref: str, place: tuple[str, str, str], key: str, was: Json, value: Json, cause: str) -> Change:
    side, before, now = place
    return Change(
        "change-port-settings", ChangeClass.SAFE,
        f"`{key}` of `{ref}.{now}` is {_value(value)}, was {_value(was)}",
        ("streamlets", ref, side, now, key), ("streamlets", ref, side, before, key), (), (cause,) if cause else (),
    )  # fmt: skip


def _evolution(ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    path = ("streamlets", ref, "source-evolution")
    now, was = str(new.source_evolution).lower(), str(old.source_evolution).lower()
    return Change(
        "change-source-evolution", ChangeClass.STATE_LOSS, f"`source-evolution` of `{ref}` is `{now}`, was `{was}`",
        path, path, queries_of(ref, old),
        ("a checkpoint is created with or without names of its sources, and cannot be continued the other way",),
        (f"keep `source-evolution = {was}`",),
    )  # fmt: skip


def _value(value: Json, missing: str = "not set") -> str:
    if value is None:
        return missing
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"
