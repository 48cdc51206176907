"""Where the command `flow` starts: a module of its own, with a name that no project has.

A project's modules may be called like what the command imports, and PYTHONPATH may name the project. Then Python would
import the project's `cli` for the command's. So the framework's packages are imported from here wherever else they are,
and a project comes last on the path until it is entered (`streamlets/project/modules.py`).
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

_HOME = os.path.dirname(os.path.abspath(__file__))
_PACKAGES = ("blueprint", "cli", "streamlets")


class _OwnPackages:
    """Finds the framework's packages next to this file, before the path is searched."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [_HOME]) if name in _PACKAGES else None


def _is_of_a_project(entry: str) -> bool:
    """Whether an entry of the path is the working directory, or a project's, or the `src` of either."""
    directory = os.path.realpath(entry)
    if os.path.basename(directory) == "src":
        directory = os.path.dirname(directory)
    return directory == os.path.realpath("") or any(
        os.path.exists(os.path.join(directory, f"blueprint.{suffix}")) for suffix in ("conf", "yaml", "yml", "json")
    )


def main() -> None:
    """Run `flow`."""
    sys.meta_path.insert(0, _OwnPackages)
    sys.path.sort(key=_is_of_a_project)
    from cli.main import main as command

    command()


if __name__ == "__main__":
    main()
