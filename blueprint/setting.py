"""`Setting`: what is known of a setting, whether it comes from the table of the language or from a channel."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blueprint.setting_types import Codec, SettingType


class Scope(enum.Enum):
    """What a setting belongs to; the value is the path of its keys below `flow`. `<...>` is a name of the user."""

    APPLICATION = ""
    STREAMLET = "streamlets.<ref>."
    INLET = "streamlets.<ref>.inlets.<port>."
    OUTLET = "streamlets.<ref>.outlets.<port>."
    TOPIC = "topics.<id>."


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    Arguments:
        key: its path within its scope; `<...>` stands for a name that the user chooses.
        type: what its value must be.
        doc: what it does, one sentence.
        default: effective when nothing is set, as it would be written; empty when there is none.
        scope: what it belongs to. The settings of a channel for the whole application are below `flow.<channel>`.
        secret: whether no output may show its value. Settings with a name such as `password` are always secret.
        columns: whether its value names columns of the port.
    """

    key: str
    type: SettingType
    doc: str
    default: str = ""
    scope: Scope = Scope.APPLICATION
    secret: bool = False
    columns: bool = False

    @property
    def path(self) -> str:
        """Its path below `flow`."""
        return f"{self.scope.value}{self.key}"

    def of(self, options: Mapping[str, object]) -> Any:
        """Return the typed value of the setting, or its default; None when there is neither.

        Arguments:
            options: typed settings by key, such as `TopicPlan.options`.
        """
        if self.key in options:
            return options[self.key]
        return self.type.read(self.default) if self.default and isinstance(self.type, Codec) else None


@dataclass(slots=True)
class SettingNode:
    """A node of a tree of settings.

    Arguments:
        children: the nodes of keys.
        named: the node of all names that the user chooses; None where there are none.
        setting: the setting at this path; None for a section.
    """

    children: dict[str, SettingNode] = field(default_factory=dict)
    named: SettingNode | None = None
    setting: Setting | None = None

    def inner(self, *path: str) -> SettingNode | None:
        """Return the node at a path of keys; None when there is no such setting."""
        node: SettingNode | None = self
        for key in path:
            if node is None:
                return None
            node = node.children.get(key, node.named)
        return node


def tree_of(settings: Iterable[Setting]) -> SettingNode:
    """Return settings as a tree, whose root is `flow`. Of settings with the same path, the last one counts."""
    root = SettingNode()
    for setting in settings:
        node = root
        for key in setting.path.split("."):
            if key.startswith("<"):
                node.named = node.named or SettingNode()
                node = node.named
            else:
                node = node.children.setdefault(key, SettingNode())
        node.setting = setting
    return root
