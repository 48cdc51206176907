"""The settings that an application may have: the common ones, and the settings of the channels of its topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from blueprint.catalog import ChannelTraits, TopicSettings
from blueprint.core_settings import SETTINGS, setting_tree
from blueprint.hocon.values import ObjectValue
from blueprint.model.wiring import PortKey
from blueprint.setting import Scope, Setting, SettingNode, tree_of


def known_settings(
    flow: ObjectValue,
    topics: Mapping[str, TopicSettings],
    ports: Iterable[tuple[PortKey, str]],
    channels: Mapping[str, ChannelTraits],
) -> SettingNode:
    """Return the settings of an application as a tree, whose root is `flow`.

    A topic, and each port that it joins, has the settings of its channel. It may also have settings of other channels,
    which have no effect, so that one setting moves an application to another channel.

    Arguments:
        flow: the `flow` section over the blocks of the blueprint.
        topics: the topics of the blueprint, and others that have settings, by id.
        ports: the connected ports, each with its topic.
        channels: the traits of all channels, by name.
    """
    core = setting_tree()
    root = SettingNode(dict(core.children))
    used = {facts.channel for facts in topics.values()} | {key for key in flow.fields if key not in core.children}
    for channel in used:
        if channel in channels and (section := _of_channel(channels[channel]).children.get(channel)):
            root.children[channel] = section
    topic_nodes = {id: _topic(flow.get("topics", id), facts.channel, channels) for id, facts in topics.items()}
    root.children["topics"] = replace(core.children["topics"], children=topic_nodes)
    root.children["streamlets"] = replace(core.children["streamlets"], children=_streamlets(topics, ports, channels))
    return root


def channel_settings(traits: ChannelTraits | None, scope: Scope) -> tuple[Setting, ...]:
    """Return the settings of a channel in a scope. Keys of the application's settings are below `flow.<channel>`."""
    return tuple(setting for setting in traits.settings if setting.scope is scope) if traits is not None else ()


def every_setting(channels: Iterable[ChannelTraits]) -> tuple[Setting, ...]:
    """Return the settings of every application, and then the settings of channels.

    Keys of a channel's settings for the application begin with the channel's name.
    """
    own = (
        replace(setting, key=f"{traits.name}.{setting.key}") if setting.scope is Scope.APPLICATION else setting
        for traits in channels
        for setting in traits.settings
    )
    return (*SETTINGS, *own)


@cache
def _of_channel(*channels: ChannelTraits) -> SettingNode:
    """Return the table and the settings of channels as a tree; of settings with the same path, the last one counts."""
    return tree_of(every_setting(channels))


def _topic(block: object, channel: str, channels: Mapping[str, ChannelTraits]) -> SettingNode:
    """Return the settings of a topic. Other channels are only looked up for a key that its own does not have."""
    own = (channels[channel],) if channel in channels else ()
    node = _named(_of_channel(*own), "topics")
    if isinstance(block, ObjectValue) and not _covers(node, block):
        node = _named(_of_channel(*(traits for traits in channels.values() if traits not in own), *own), "topics")
    return node


def _covers(node: SettingNode, block: ObjectValue) -> bool:
    for key, value in block.fields.items():
        inner = node.inner(key)
        if inner is None or (inner.children and isinstance(value, ObjectValue) and not _covers(inner, value)):
            return False
    return True


def _streamlets(
    topics: Mapping[str, TopicSettings], ports: Iterable[tuple[PortKey, str]], channels: Mapping[str, ChannelTraits]
) -> dict[str, SettingNode]:
    """Return the settings of the streamlets with a port whose channel has settings for it."""
    core = _named(setting_tree(), "streamlets")
    nodes: dict[str, SettingNode] = {}
    for port, id in ports:
        traits = channels.get(topics[id].channel) if id in topics else None
        section, scope = ("inlets", Scope.INLET) if port.role == "consumer" else ("outlets", Scope.OUTLET)
        if traits is None or not channel_settings(traits, scope):
            continue
        node = nodes.setdefault(port.streamlet, replace(core, children=dict(core.children)))
        known = node.children[section]
        own = _named(_named(_of_channel(traits), "streamlets").children[section], "")
        node.children[section] = replace(known, children={**known.children, port.port: own})
    return nodes


def _named(node: SettingNode, section: str) -> SettingNode:
    """Return the node of the names that the user chooses in a section."""
    named = (node.children[section] if section else node).named
    assert named is not None
    return named
