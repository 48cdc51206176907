"""`OutsidePaths`: sinks, mounts and paths of an application under test, moved into the kit's directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blueprint.catalog import ParameterType
from blueprint.plan import StreamletPlan
from blueprint.settings.options import typed_options
from streamlets.api.declaration import declarations
from streamlets.api.mounts import VolumeMount
from streamlets.api.streamlet import SparkStreamlet
from streamlets.egress.registry import SINKS
from streamlets.egress.sink import Sink
from streamlets.sql import Sql
from streamlets.sql.testing import with_sinks
from streamlets.testkit.failures import TestkitError

MAX_COPIED_BYTES = 256 * 1024**2
"""The maximum size in bytes of a mount or path that is copied for a test; more would make each test slow silently."""


@dataclass(frozen=True, slots=True)
class OutsidePaths:
    """Moves paths outside of the kit into it while an application is under test.

    Arguments:
        kit: the directory of the kit; paths in it are not moved.
        home: the application's directory in the kit.
        allow: the argument with which a test permits real paths, for messages.
    """

    kit: Path
    home: Path
    allow: str = "real=True"

    def place(self, path: Path) -> Path:
        """Return the path in the kit for a path outside; streamlets that share a path outside share it in the kit."""
        real = path.expanduser().absolute()
        if real.is_relative_to(self.kit.absolute()):
            return real
        return self.home.absolute() / "outside" / real.relative_to(real.anchor)

    def redirect(self, streamlet: SparkStreamlet, plan: StreamletPlan) -> StreamletPlan:
        """Return the plan of a streamlet with the paths that it writes moved into the kit.

        Raises:
            TestkitError: a mount is too large to be copied.
        """
        return replace(
            plan,
            parameters=self._parameters(streamlet, plan),
            volume_mounts=dict(self._mounts(streamlet, plan)),
        )

    def _parameters(self, streamlet: SparkStreamlet, plan: StreamletPlan) -> dict[str, object]:
        values = dict(plan.parameters)
        for written in plan.descriptor.external.directories:
            if written.place is None:  # the others are in statements
                values = _with(values, written.parameter, self.place(Path(written.directory)))
        if isinstance(streamlet, Sink):
            values |= self._sink_parameters(plan, values["options"])
        if isinstance(streamlet, Sql):
            values |= self._sql_parameters(streamlet, plan)
        for parameter in plan.descriptor.parameters:
            path = plan.parameters.get(parameter.key)
            if parameter.path is not None and parameter.path.writable and isinstance(path, Path):
                reads = parameter.path.readable or parameter.path.must_exist
                what = f"the path `{parameter.key}` of `{plan.ref}`"
                values[parameter.key] = self._copy(path, what) if reads else self._parent_created(path)
        return values

    def _sink_parameters(self, plan: StreamletPlan, options: object) -> dict[str, object]:
        """Return the parameters of a `Sink` that differ in tests."""
        assert isinstance(options, Mapping)  # the type of the parameter
        name, options = self._sink(str(plan.parameters["to"]), options, Path(plan.directory), plan.ref)
        return {"to": name, "options": options}

    def _sql_parameters(self, streamlet: Sql, plan: StreamletPlan) -> dict[str, object]:
        """Return the parameters of a `Sql` that differ in tests: its queries write to directories in the kit."""
        variables = plan.parameters["variables"]
        assert isinstance(variables, Mapping)  # the type of the parameter

        def sink_in_tests(query: str, name: str, options: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
            name, kept = self._sink(name, options, Path(plan.directory), f"{plan.ref}.{query}")
            paths = [o.name for o in SINKS[name].traits.options if o.type is ParameterType.PATH and o.name in kept]
            return name, {**kept, **{key: str(self.place(Path(plan.directory, str(kept[key])))) for key in paths}}

        statements = with_sinks(str(plan.parameters["statements"]), variables, streamlet.shape, sink_in_tests)
        return {"statements": statements}

    def _sink(self, name: str, options: Mapping[str, Any], directory: Path, output: str) -> tuple[str, dict[str, Any]]:
        """Return a sink and its options as they are in tests.

        Records of a sink whose output is not files in a directory are written to Parquet files instead.

        Arguments:
            name: the name of the sink.
            options: its options.
            directory: the directory in which relative paths start.
            output: the name of the directory of these Parquet files.
        """
        sink = SINKS[name]
        if sink.files(typed_options(sink.traits, options, directory)) is None:
            return "parquet", {"path": str(self.home.absolute() / "sinks" / output)}
        omitted = {option.name for option in sink.traits.options if not option.in_tests}
        return name, {key: value for key, value in options.items() if key not in omitted}

    def _mounts(self, streamlet: SparkStreamlet, plan: StreamletPlan) -> Iterator[tuple[str, str]]:
        writable = {
            mount.name for mount in declarations(streamlet, VolumeMount) if mount.access_mode == "ReadWriteMany"
        }
        for name, directory in plan.volume_mounts.items():
            what = f"the volume mount `{name}` of `{plan.ref}`"
            if name not in writable:
                yield name, directory
                continue
            place = self._copy(Path(plan.directory, directory), what)
            place.mkdir(parents=True, exist_ok=True)
            yield name, str(place)

    def _parent_created(self, real: Path) -> Path:
        """Return the path in the kit for a path that is only written; its directory exists if the real one does."""
        place = self.place(real)
        if real.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif real.parent.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _copy(self, real: Path, what: str) -> Path:
        """Copy a file or directory into the kit once, if it exists, and return the path of the copy.

        Raises:
            TestkitError: it is too large, or copying fails.
        """
        place = self._parent_created(real)
        copied = place.with_name(f".{place.name}.copied")
        if place == real or copied.exists() or not real.exists():
            return place
        size = 0
        try:
            for file in self._files(real):
                size += file.stat().st_size
                if size > MAX_COPIED_BYTES:
                    raise TestkitError(
                        f"{what} is writable, so that a test uses a copy of it, but `{real}` is larger than "
                        f"{MAX_COPIED_BYTES // 1024**2} MiB: use less data in the test, declare it as read-only, or "
                        "use the real one with `real`"
                    )
                inside = place / file.relative_to(real)
                inside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, inside)
        except OSError as error:
            raise TestkitError(
                f"{what} is writable, so that a test uses a copy of it, but it cannot be copied: {error}"
            ) from None
        copied.touch()
        return place

    def _files(self, real: Path) -> Iterator[Path]:
        """Yield a file itself, or the files in a directory except the kit's."""
        if real.is_file():
            yield real
        for root, directories, files in os.walk(real):
            directories[:] = [name for name in directories if Path(root, name).absolute() != self.kit.absolute()]
            yield from (path for file in files if (path := Path(root, file)).is_file())


def _with(values: Mapping[str, Any], keys: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return values with the value at a path of keys replaced."""
    first, *rest = keys
    return {**values, first: _with(values[first], tuple(rest), value) if rest else value}
