"""`Plugins`: channels and sinks by name, of Streamlets and of other packages that register them.

A package registers a class without arguments by an entry point: its group names the kind of plug-in, such as
`streamlets.sinks`, its name is the plug-in's, and its value the class, such as `my_package.sink:MySink`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class PluginError(Exception):
    """The class that a package registers cannot be used; the message has the entry point and the reason."""


class Plugins(Mapping[str, T]):
    """Instances of plug-ins by name, created when they are first requested.

    Other packages are searched only for a name that is not built in, because the search reads the metadata of every
    installed package. They cannot replace what is built in.

    Arguments:
        group: the group of the entry points.
        noun: what a plug-in is, for messages.
        built_in: the classes of Streamlets, as `module:name` by the name of the plug-in.
        requires: attributes that each plug-in must have, such as `open`.
    """

    def __init__(self, group: str, noun: str, built_in: Mapping[str, str], requires: tuple[str, ...]) -> None:
        self._group = group
        self._noun = noun
        self._built_in = built_in
        self._requires = requires
        self._created: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Return a plug-in.

        Raises:
            KeyError: no package registers the name.
            PluginError: the registered class cannot be used, or several packages register the name.
        """
        path = self._built_in.get(name) or self._registered(name)
        if path not in self._created:
            self._created[path] = self._create(name, path)
        return self._created[path]

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or any(entry.name == name for entry in self._entries())

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._built_in, *(entry.name for entry in self._entries())}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _entries(self) -> tuple[EntryPoint, ...]:
        from importlib.metadata import entry_points  # slow to import, and seldom needed

        return tuple(entry_points(group=self._group))

    def _registered(self, name: str) -> str:
        paths = sorted({entry.value.replace(" ", "") for entry in self._entries() if entry.name == name})
        if not paths:
            raise KeyError(name)
        if len(paths) > 1:
            classes = " and ".join(f"`{path}`" for path in paths)
            raise PluginError(f"several packages register the {self._noun} `{name}`: {classes}; uninstall all but one")
        return paths[0]

    def _create(self, name: str, path: str) -> T:
        module, _, attributes = path.partition(":")
        try:
            factory: object = importlib.import_module(module)
            for attribute in attributes.split("."):
                factory = getattr(factory, attribute)
            created: T = factory()  # type: ignore[operator]  # what is not callable is reported, too
        except Exception as error:
            if name in self._built_in:
                raise
            reason = f"{type(error).__name__}: {error}"
            raise PluginError(f"the {self._noun} `{name}` is registered as `{path}`, which fails: {reason}") from error
        for attribute in self._requires:
            if not hasattr(created, attribute):
                raise PluginError(f"the {self._noun} `{name}` is registered as `{path}`, which has no `{attribute}`")
        return created


class HasTraits(Protocol[T_co]):
    """A plug-in with data about it for the language."""

    @property
    def traits(self) -> T_co:
        """The data."""


class Traits(Mapping[str, T]):
    """The traits of plug-ins by name; each is looked up when it is requested.

    Arguments:
        plugins: the plug-ins.
    """

    def __init__(self, plugins: Mapping[str, HasTraits[T]]) -> None:
        self._plugins = plugins

    def __getitem__(self, name: str) -> T:
        return self._plugins[name].traits

    def __contains__(self, name: object) -> bool:
        return name in self._plugins

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)
