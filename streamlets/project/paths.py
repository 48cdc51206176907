"""Checks of paths in parameters on this machine: existence, kind and permissions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from blueprint.catalog import ParameterDescriptor, ParameterProblem, PathTraits


def path_problems(
    parameters: Iterable[ParameterDescriptor], values: Mapping[str, object]
) -> Iterator[ParameterProblem]:
    """Yield the problems of paths in parameters on this machine.

    Arguments:
        parameters: the parameters to check; those without `path` are skipped.
        values: the typed values of parameters by key.
    """
    for parameter in parameters:
        path = values.get(parameter.key)
        if parameter.path is not None and isinstance(path, Path):
            problem = _path_problem(path, parameter.path)
            if problem is not None:
                message, help = problem
                yield ParameterProblem((parameter.key,), f"`{parameter.key}` is `{path}`, {message}", (help,))


def _path_problem(path: Path, required: PathTraits) -> tuple[str, str] | None:
    """Return the problem of a path, and its remedy."""
    if not os.path.exists(path):  # noqa: PTH110 - `Path.exists` raises without permission
        if required.must_exist:
            noun = "path" if required.kind == "any" else required.kind
            return "which does not exist", f"create the {noun}, or correct the path"
        if required.writable:
            parent = next(parent for parent in path.parents if os.path.exists(parent))  # noqa: PTH110 - as above
            if not parent.is_dir():
                return f"and `{parent}` is not a directory", "use another path"
            if not os.access(parent, os.W_OK | os.X_OK):
                return f"and `{parent}` is not writable", "use another path, or correct its permissions"
        return None
    if required.kind == "directory" and not path.is_dir():
        return "which is not a directory", "use the path of a directory"
    if required.kind == "file" and not path.is_file():
        return "which is not a file", "use the path of a file"
    enter = os.X_OK if path.is_dir() else 0
    if required.readable and not os.access(path, os.R_OK | enter):
        return "which is not readable", "correct its permissions"
    if required.writable and not os.access(path, os.W_OK | enter):
        return "which is not writable", "correct its permissions"
    return None
