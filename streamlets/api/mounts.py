"""Volume mounts: folders that a streamlet wants from whoever runs it."""

from __future__ import annotations

from typing import Literal

from streamlets.api.declared import declaration_of
from streamlets.api.texts import text


class VolumeMount:
    """A folder the streamlet reads, or reads and writes; `mounted_path(mount)` says where it is when it runs.

    Arguments:
        name: as settings write it; left out, the attribute's name with `-` for `_`.
        path: where it is mounted when the settings say nothing else: absolute, without `..`.
        access_mode: `ReadWriteMany` or `ReadOnlyMany`.

    Raises:
        TypeError: name or path is no text.
        ValueError: there is no such access mode.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        path: str,
        access_mode: Literal["ReadWriteMany", "ReadOnlyMany"] = "ReadWriteMany",
    ) -> None:
        if access_mode not in ("ReadWriteMany", "ReadOnlyMany"):
            raise ValueError(f"access_mode is `ReadWriteMany` or `ReadOnlyMany`, not {access_mode!r}")
        self.path = text(path, "the path of a volume mount")
        self.access_mode: Literal["ReadWriteMany", "ReadOnlyMany"] = access_mode
        self.attribute: str | None = None
        self.declared = declaration_of(self)
        self._name = None if name is None else text(name, "the name of a volume mount")

    def __set_name__(self, owner: type, attribute: str) -> None:
        if self.attribute is None:
            self.attribute = attribute

    @property
    def name(self) -> str:
        """As settings write it."""
        if self._name is not None:
            return self._name
        if self.attribute is None:
            raise ValueError("a volume mount without a name must be an attribute of its streamlet's class")
        return self.attribute.strip("_").replace("_", "-")

    def __repr__(self) -> str:
        return f"VolumeMount({self._name or self.attribute or '?'!r})"
