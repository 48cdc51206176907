"""What is outside of an application under test: its sinks, mounts and paths, moved into the kit's own directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blueprint.plan import StreamletPlan
from streamlets.api.declaration import declarations
from streamlets.api.mounts import VolumeMount
from streamlets.api.streamlet import SparkStreamlet
from streamlets.egress.sink import Sink
from streamlets.testkit.failures import TestkitError

MOST_COPIED = 256 * 1024**2
"""Bytes of a mount or path that are copied for a test; more would make each test slow without a word."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Where the world outside is found while an application is under test.

    Arguments:
        kit: the kit's directory: what lies there already is not moved.
        home: the application's part of it.
    """

    kit: Path
    home: Path

    def place(self, path: Path) -> Path:
        """Where a path outside is found in the kit: one place for each, so that streamlets that share it still do."""
        real = path.expanduser().absolute()
        if real.is_relative_to(self.kit.absolute()):
            return real
        return self.home.absolute() / "outside" / real.relative_to(real.anchor)

    def redirect(self, streamlet: SparkStreamlet, plan: StreamletPlan) -> StreamletPlan:
        """The plan of a streamlet that reads and writes in the kit what it would write outside.

        Raises:
            TestkitError: a mount holds too much to be copied.
        """
        return replace(
            plan,
            parameters=self._parameters(streamlet, plan),
            volume_mounts=dict(self._mounts(streamlet, plan)),
        )

    def _parameters(self, streamlet: SparkStreamlet, plan: StreamletPlan) -> dict[str, object]:
        values = dict(plan.parameters)
        if isinstance(streamlet, Sink) and values["to"] == "terminal":
            return values | {"to": "parquet", "options": {"path": str(self.home.absolute() / "terminal" / plan.ref)}}
        for keys, directory in streamlet.written_folders(values).items():
            values = _with(values, keys, self.place(Path(plan.folder, directory)))
        if isinstance(streamlet, Sink):  # a tap knows files by their names
            options: Any = values["options"]
            values["options"] = {key: value for key, value in options.items() if key != "compact"}
        for parameter in plan.descriptor.parameters:
            path = plan.parameters.get(parameter.key)
            if parameter.path is not None and parameter.path.writable and isinstance(path, Path):
                reads = parameter.path.readable or parameter.path.must_exist
                what = f"the path `{parameter.key}` of `{plan.ref}`"
                values[parameter.key] = self._copy(path, what) if reads else self._room(path)
        return values

    def _mounts(self, streamlet: SparkStreamlet, plan: StreamletPlan) -> Iterator[tuple[str, str]]:
        writable = {m.name for m in declarations(streamlet, VolumeMount) if m.access_mode == "ReadWriteMany"}
        for name, directory in plan.volume_mounts.items():
            what = f"the volume mount `{name}` of `{plan.ref}`"
            if name not in writable:
                yield name, directory
                continue
            place = self._copy(Path(plan.folder, directory), what)
            place.mkdir(parents=True, exist_ok=True)
            yield name, str(place)

    def _room(self, real: Path) -> Path:
        """The place of a path that is only written, in a directory as there is outside."""
        place = self.place(real)
        if real.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif real.parent.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _copy(self, real: Path, what: str) -> Path:
        """A copy of a file or directory, made once; none where there is none.

        Raises:
            TestkitError: it holds too much.
        """
        place = self._room(real)
        copied = place.with_name(f".{place.name}.copied")
        if place == real or copied.exists() or not real.exists():
            return place
        size = 0
        try:
            for file in self._files(real):
                size += file.stat().st_size
                if size > MOST_COPIED:
                    raise TestkitError(
                        f"{what} is writable, so that a test works on a copy, and `{real}` holds more than "
                        f"{MOST_COPIED // 1024**2} MiB: give the test less, declare that it is only read, or work on "
                        "the real one with `real`"
                    )
                inside = place / file.relative_to(real)
                inside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, inside)
        except OSError as error:
            raise TestkitError(f"{what} is writable, so that a test works on a copy, and that fails: {error}") from None
        copied.touch()
        return place

    def _files(self, real: Path) -> Iterator[Path]:
        """A file itself, or those in a directory, without the kit's."""
        if real.is_file():
            yield real
        for root, directories, files in os.walk(real):
            directories[:] = [name for name in directories if Path(root, name).absolute() != self.kit.absolute()]
            yield from (path for file in files if (path := Path(root, file)).is_file())


def _with(values: Mapping[str, Any], keys: tuple[str, ...], value: object) -> dict[str, Any]:
    """The values with one replaced that keys lead to."""
    first, *rest = keys
    return {**values, first: _with(values[first], tuple(rest), value) if rest else value}
