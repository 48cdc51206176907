"""Paths that streamlets are given, held to what their parameters ask for, on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from blueprint.catalog import ParameterDescriptor, ParameterProblem, PathTraits


def path_problems(
    parameters: Iterable[ParameterDescriptor], values: Mapping[str, object]
) -> Iterator[ParameterProblem]:
    """What is wrong with the paths among the values of parameters, on this machine."""
    for parameter in parameters:
        path = values.get(parameter.key)
        if parameter.path is not None and isinstance(path, Path):
            fault = _fault(path, parameter.path)
            if fault is not None:
                message, remedy = fault
                yield ParameterProblem((parameter.key,), f"`{parameter.key}` is `{path}`, {message}", (remedy,))


def _fault(path: Path, wanted: PathTraits) -> tuple[str, str] | None:
    """What is wrong with a path, and what to do."""
    if not os.path.exists(path):  # noqa: PTH110 - `Path.exists` raises where it may not look
        if wanted.must_exist:
            noun = "path" if wanted.kind == "any" else wanted.kind
            return "which does not exist", f"create the {noun}, or correct the path"
        if wanted.writable:
            parent = next(parent for parent in path.parents if os.path.exists(parent))  # noqa: PTH110 - as above
            if not parent.is_dir():
                return f"and `{parent}` is not a directory", "give another path"
            if not os.access(parent, os.W_OK | os.X_OK):
                return f"and `{parent}` is not writable", "give another path, or correct its permissions"
        return None
    if wanted.kind == "directory" and not path.is_dir():
        return "which is not a directory", "give the path of a directory"
    if wanted.kind == "file" and not path.is_file():
        return "which is not a file", "give the path of a file"
    enter = os.X_OK if path.is_dir() else 0
    if wanted.readable and not os.access(path, os.R_OK | enter):
        return "which is not readable", "correct its permissions"
    if wanted.writable and not os.access(path, os.W_OK | enter):
        return "which is not writable", "correct its permissions"
    return None
