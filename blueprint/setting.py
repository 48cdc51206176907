"""`Setting`: the declaration of a setting, of every application (`core_settings.py`) or of a channel."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar, overload

from blueprint.setting_types import Codec, SettingType

T = TypeVar("T")


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
        default: the value if nothing is set, as it would be written; empty when there is none.
        scope: what it belongs to. The settings of a channel for the whole application are below `flow.<channel>`.
        secret: whether no output may show its value. Settings with a name such as `password` are always secret.
        columns: whether its value names columns of the port.
        otherwise: describes the value if nothing is set, where it is not the same for every application.
        elsewhere: the keys of the setting in other systems, with the same values; a finding replaces them.
    """

    key: str
    type: SettingType[object]
    doc: str
    default: str = ""
    scope: Scope = Scope.APPLICATION
    secret: bool = False
    columns: bool = False
    otherwise: str = ""
    elsewhere: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its path below `flow`."""
        return f"{self.scope.value}{self.key}"

    @property
    def effect(self) -> str:
        """Its value if nothing is set, or a description of it; "" when there is none."""
        return self.default or self.otherwise

    def of(self, options: Mapping[str, object]) -> Any:
        """Return the typed value of the setting, or its default; None when there is neither.

        Arguments:
            options: typed settings by key, such as `TopicPlan.options`.
        """
        return options[self.key] if self.key in options else self.typed_default()

    def typed_default(self) -> Any:
        """Return the typed value of the default; None when there is none."""
        return self.type.read(self.default) if self.default and isinstance(self.type, Codec) else None


_SETTING = "setting"


@overload
def setting(
    type: Codec[T],
    doc: str,
    default: str,
    *,
    key: str = "",
    otherwise: str = "",
    secret: bool = False,
    columns: bool = False,
    elsewhere: tuple[str, ...] = (),
) -> T: ...
@overload
def setting(
    type: SettingType[T], doc: str, *, key: str = "", otherwise: str = "", secret: bool = False, columns: bool = False
) -> T | None: ...
def setting(
    type: SettingType[Any],
    doc: str,
    default: str = "",
    *,
    key: str = "",
    otherwise: str = "",
    secret: bool = False,
    columns: bool = False,
    elsewhere: tuple[str, ...] = (),
) -> Any:
    """Declare a field of a dataclass as a setting. The default of the field is the value of `default`, else None.

    Arguments:
        type: as in `Setting`.
        doc: as in `Setting`.
        default: as in `Setting`.
        key: as in `Setting`; default: the name of the field, with `-` for `_`.
        otherwise: as in `Setting`.
        secret: as in `Setting`.
        columns: as in `Setting`.
        elsewhere: as in `Setting`.
    """
    declared = Setting(
        key, type, doc, default, otherwise=otherwise, secret=secret, columns=columns, elsewhere=elsewhere
    )
    return field(default=declared.typed_default(), metadata={_SETTING: declared})


def options(type: SettingType[Mapping[str, T]], doc: str, *, key: str = "") -> Mapping[str, T]:
    """Declare a field as a setting with options by name; its default is {}. For the arguments see `setting`."""
    return field(default_factory=dict, metadata={_SETTING: Setting(key, type, doc)})


def by_name(type: SettingType[T], doc: str, *, key: str) -> Mapping[str, T]:
    """Declare a field as a setting for each name that the user chooses, `<...>` in its key.

    Its default is {}. For the arguments see `setting`.
    """
    return field(default_factory=dict, metadata={_SETTING: Setting(key, type, doc)})


def section(kind: type[T]) -> T:
    """Declare a field as a section: its settings are the fields of another dataclass, and those are its defaults."""
    return field(default_factory=kind, metadata={_SETTING: kind})


@cache
def declared_settings(kind: type) -> Mapping[str, Setting]:
    """Return the settings that a dataclass declares, without inherited fields, by the names of the fields.

    The settings of a section are not among them: they are the fields of another dataclass.
    """
    declared = {field.name: field.metadata.get(_SETTING) for field in _own_fields(kind)}
    return {
        name: setting if setting.key else replace(setting, key=_key(name))
        for name, setting in declared.items()
        if isinstance(setting, Setting)
    }


def settings_of(kind: type, scope: Scope) -> tuple[Setting, ...]:
    """Return the settings that a dataclass declares, without inherited fields, and the settings of its sections.

    Arguments:
        kind: the dataclass.
        scope: what its objects belong to.
    """
    own = declared_settings(kind).values()
    inner = {
        _key(field.name): settings_of(field.metadata[_SETTING], scope)
        for field in _own_fields(kind)
        if isinstance(field.metadata.get(_SETTING), type)
    }
    return (
        *(replace(setting, scope=scope) for setting in own),
        *(replace(setting, key=f"{key}.{setting.key}") for key, settings in inner.items() for setting in settings),
    )


def _own_fields(kind: type) -> list[Field[Any]]:
    return [field for field in fields(kind) if field.name in kind.__annotations__]


def _key(name: str) -> str:
    return name.replace("_", "-")


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
