"""Volume mounts: directories that a run provides to a streamlet."""

from __future__ import annotations

from typing import Literal

from streamlets.api.declaration import Declaration, require_string


class VolumeMount(Declaration):
    """A directory that the streamlet reads, or reads and writes. In a run, `mounted_path(mount)` returns its path.

    Arguments:
        name: the name in the settings; default: the name of the attribute with `-` for `_`.
        path: where it is mounted unless the settings have another path: absolute, without `..`.
        access_mode: `ReadWriteMany` or `ReadOnlyMany`.

    Raises:
        TypeError: name or path is not a string.
        ValueError: `access_mode` has another value.

    Example:
        >>> VolumeMount("stations", path="/mnt/stations", access_mode="ReadOnlyMany").path
        '/mnt/stations'
    """

    _NAME = "the name of a volume mount"

    def __init__(
        self,
        name: str | None = None,
        *,
        path: str,
        access_mode: Literal["ReadWriteMany", "ReadOnlyMany"] = "ReadWriteMany",
    ) -> None:
        super().__init__(name)
        if access_mode not in ("ReadWriteMany", "ReadOnlyMany"):
            raise ValueError(f"access_mode must be `ReadWriteMany` or `ReadOnlyMany`, found {access_mode!r}")
        self.path = require_string(path, "the path of a volume mount")
        self.access_mode: Literal["ReadWriteMany", "ReadOnlyMany"] = access_mode

    @property
    def name(self) -> str:
        """The name in the settings."""
        return self._configured_name()
