"""The declared traits of channels, known without opening them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from blueprint.avro.model import Contract
from blueprint.catalog.connectors import Connector, SparkArtifacts, UnmetRequirement
from blueprint.setting import Setting


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of a topic, with their types. An invalid value, which is reported elsewhere, counts as not set.

    Arguments:
        id: the id of the topic.
        name: its name on the channel.
        channel: the name of the channel that stores it.
        managed: whether the application creates and deletes it.
        options: the settings of the topic; see `TopicPlan.options`.
        channel_options: the settings of the application for the channel; see `TopicPlan.channel_options`.
        location: see `ChannelTraits.location`, which returns it; "" before that.
        contracts: the known contracts of its ports, for `ChannelTraits.problems`.
        is_read: whether an inlet reads it, for `ChannelTraits.problems`.
        durable: see `TopicPlan.durable`.
    """

    id: str
    name: str
    channel: str
    managed: bool
    options: Mapping[str, object]
    channel_options: Mapping[str, object]
    location: str = ""
    contracts: tuple[Contract, ...] = ()
    is_read: bool = False
    durable: bool = True


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """A problem that a channel reports about the settings of a topic, each of which has the right type.

    Arguments:
        code: of the finding.
        path: the key of the setting in the topic's block, or below `flow` where that begins with the channel's name.
            The finding is at the topic if the setting is not set.
        message: one sentence without a full stop.
        causes: why, one sentence each.
        help: what to do, one sentence each.
        about: whether the value at the path is wrong, or its key must not be set.
    """

    code: str
    path: tuple[str, ...]
    message: str
    causes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    about: Literal["value", "key"] = "value"


@dataclass(frozen=True, slots=True)
class InletSettings:
    """The settings of an inlet for the channel of its topic.

    Arguments:
        streamlet: the name of the streamlet.
        name: the name of the inlet.
        options: the settings; see `InletPlan.options`.
        contract: the contract of the inlet; None if it is not known.
        producers: the settings of the outlets that write the topic, by `streamlet.outlet`.
        real_time: whether the settings give the streamlet a real-time trigger.
    """

    streamlet: str
    name: str
    options: Mapping[str, object]
    contract: Contract | None
    producers: Mapping[str, Mapping[str, object]]
    real_time: bool = False


@dataclass(frozen=True, slots=True)
class OutletSettings:
    """The settings of an outlet for the channel of its topic.

    Arguments:
        streamlet: the name of the streamlet.
        name: the name of the outlet.
        options: the settings; see `OutletPlan.options`.
        real_time: whether the query that writes it has a real-time trigger.
    """

    streamlet: str
    name: str
    options: Mapping[str, object]
    real_time: bool = False


def _no_problems(topic: TopicSettings) -> Iterable[TopicProblem]:
    return ()


def _no_inlet_problems(inlet: InletSettings) -> Iterable[TopicProblem]:
    return ()


def _no_outlet_problems(outlet: OutletSettings) -> Iterable[TopicProblem]:
    return ()


def _nothing_unmet(artifacts: SparkArtifacts) -> Iterable[UnmetRequirement]:
    return ()


def _one_location(topic: TopicSettings) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTraits:
    """What a channel is, and which of the optional methods of channels and topics it has.

    Arguments:
        name: the name in the blueprint.
        real_time: whether it supports real-time triggers.
        reserved: the name prefixes that it uses internally, which topics must not have.
        settings: the settings that it adds to topics, ports and the application. Settings of the application are below
            `flow.<name>`. Keys of a group of free-form settings (`OPTIONS`) may be settings themselves.
        location: returns what distinguishes topics of the same name, such as the servers of a cluster; default: the
            channel has one location.
        problems: yields what is wrong with the settings of a topic, apart from unknown settings and wrong types.
        inlet_problems: yields what is wrong with the settings of an inlet; the paths are those in its block.
        outlet_problems: yields what is wrong with the settings of an outlet; the paths are those in its block.
        exactly_once: whether a batch of a query that is written again after a failure appears in a topic once.
        connector: what Spark needs to use the channel; None for nothing.
        unmet: yields what the channel needs and this machine does not have, without a network.
        log_options: the settings of a topic that keeps all records in one order, as in `TopicPlan.options`.
        partitions: returns the number of partitions of a topic, None if that is not known; default: the channel has no
            partitions, and its readers always get a commit whole.
        invalid_records: whether a topic may have data that is not a record, such as messages of other applications.
        loses_records: whether its storage deletes records that a reader may not have read.
        late_records: whether an inlet may drop records that the watermark of its query has passed.
        shows_progress: whether its storage shows the positions of readers to other tools.
        splits: whether its readers share a batch among as many tasks as `replicas` says.
        purges: whether records can be deleted.
        copies: whether topics can be copied.
        ranges: whether the records of a topic can be found by the time of their commit.
        snapshots: whether a range of a topic can be kept for readers of their own, without copying its records.
        deletes: whether topics can be deleted.
        administration: whether its servers store settings of topics, which can be compared and altered.
    """

    name: str
    real_time: bool = False
    reserved: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    location: Callable[[TopicSettings], str] = _one_location
    problems: Callable[[TopicSettings], Iterable[TopicProblem]] = _no_problems
    inlet_problems: Callable[[InletSettings], Iterable[TopicProblem]] = _no_inlet_problems
    outlet_problems: Callable[[OutletSettings], Iterable[TopicProblem]] = _no_outlet_problems
    exactly_once: bool = True
    connector: Connector | None = None
    unmet: Callable[[SparkArtifacts], Iterable[UnmetRequirement]] = _nothing_unmet
    log_options: Mapping[str, object] = field(default_factory=dict, hash=False)
    partitions: Callable[[TopicSettings], int | None] | None = None
    invalid_records: bool = False
    loses_records: bool = False
    late_records: bool = False
    shows_progress: bool = False
    splits: bool = False
    purges: bool = False
    copies: bool = False
    ranges: bool = False
    snapshots: bool = False
    deletes: bool = False
    administration: bool = False
