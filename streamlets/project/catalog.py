"""`ProjectCatalog`: descriptors of streamlets and channels, for everything in `blueprint`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from blueprint.catalog import (
    ChannelTraits,
    LoadFailure,
    PortSetting,
    StreamletDescriptor,
    StreamletRequest,
)
from blueprint.diagnostics import Span
from blueprint.hocon.values import plain
from blueprint.known_keys import KnownKey
from streamlets.api.streamlet import Streamlet
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.plugins import Traits
from streamlets.project.configuration import configured, with_defaults
from streamlets.project.descriptors import descriptor, takes_ports
from streamlets.project.loading import load_streamlet
from streamlets.project.modules import Project, project_at
from streamlets.project.scanning import streamlet_classes, unused_classes


class ProjectCatalog:
    """The `Catalog` of a project's streamlets, and of the available channels.

    A class is described once, even if several streamlets are instances of it.

    Arguments:
        writes: whether to check paths that streamlets write on this machine; tests write elsewhere.
    """

    def __init__(self, *, writes: bool = True) -> None:
        self._writes = writes
        self._described: dict[object, tuple[StreamletDescriptor | LoadFailure, Streamlet | None]] = {}
        self._with_own_ports: set[tuple[str, str]] = set()  # classes whose ports do not depend on the blueprint
        self._classes: dict[Project, tuple[str, ...]] = {}
        self._projects: dict[str, Project] = {}

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """Describe a streamlet as configured; mistakes of users are returned as a failure, not raised."""
        described, streamlet = self._described_class(request)
        if isinstance(described, LoadFailure) or streamlet is None:
            return described
        project = self._project(request.directory)
        return configured(streamlet, described, request, project, writes=self._writes)

    def known_keys(self, request: StreamletRequest, columns: Mapping[str, Mapping[str, str]]) -> tuple[KnownKey, ...]:
        """Return the keys and values that the parameters of a streamlet may have, beyond their declarations.

        Arguments:
            request: its class and settings, which may have mistakes.
            columns: as for `Streamlet.known_keys`.
        """
        described, streamlet = self._described_class(request)
        if isinstance(described, LoadFailure) or streamlet is None:
            return ()
        parameters = {key: plain(value) for key, value in with_defaults(described, request).items()}
        try:
            return tuple(streamlet.known_keys(parameters, columns))
        except Exception:  # noqa: BLE001 - it is the author's code, and an editor asks while values are incomplete
            return ()

    def classes(self, directory: str) -> tuple[str, ...]:
        """Return the sorted class paths of all streamlets in a project's directory, without importing them."""
        project = self._project(directory)
        if project not in self._classes:
            self._classes[project] = streamlet_classes(project)
        return self._classes[project]

    def unused(self, directory: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """Return the class paths and spans of a project's streamlets that are not in `used`, without importing them."""
        return unused_classes(self._project(directory), used)

    def channels(self) -> Mapping[str, ChannelTraits]:
        """Return the available channels by name."""
        return Traits(CHANNEL_TYPES)

    def _described_class(self, request: StreamletRequest) -> tuple[StreamletDescriptor | LoadFailure, Streamlet | None]:
        """Return the description of a class with the ports of a request, and its instance."""
        key = self._key(request)
        if key not in self._described:
            answer = self._describe(request)
            if answer[1] is not None and not takes_ports(answer[1]):
                self._with_own_ports.add((request.directory, request.class_name))
            key = self._key(request)
            self._described[key] = answer
        return self._described[key]

    def _key(self, request: StreamletRequest) -> object:
        """Return the cache key of a description: everything that it depends on."""
        places = (*request.named_inlets.items(), None, *request.named_outlets.items())
        named = () if (request.directory, request.class_name) in self._with_own_ports else places
        return request.directory, request.class_name, _frozen(request.inlets), _frozen(request.outlets), named

    def _project(self, directory: str) -> Project:
        """Return the project in a directory; it is looked up in the file system once."""
        if directory not in self._projects:
            self._projects[directory] = project_at(directory)
        return self._projects[directory]

    def _describe(self, request: StreamletRequest) -> tuple[StreamletDescriptor | LoadFailure, Streamlet | None]:
        project = self._project(request.directory)
        loaded = load_streamlet(request.class_name, project, lambda: self.classes(request.directory))
        if isinstance(loaded, LoadFailure):
            return loaded, None
        loaded.declare_ports(request.named_inlets, request.named_outlets)
        return descriptor(loaded, request, project), loaded


def _frozen(settings: Mapping[str, PortSetting]) -> frozenset[tuple[str, PortSetting]]:
    return frozenset(settings.items())
