"""`SourceContext`: the environment of a batch source, in the runner and in the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class Eat(Protocol):
    """Takes the tasks of a discovery.

    Example:
        In `discover`, a task with a key that was eaten before is not read again::

            eat({"file": "orders-1.csv"}, key="orders-1.csv")
    """

    def __call__(self, task: object, *, key: str | None = None) -> bool:
        """Take a task, which is durable within 100 ms.

        Arguments:
            task: what `prepare` needs to read it: bytes, or plain JSON data.
            key: what makes the task the same as another one, such as a file's path and version. A task is dropped if
                one with this key was discovered before; None never drops it.

        Returns:
            Whether the task is new.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContext:
    """The environment of a batch source.

    Arguments:
        streamlet: the name of the source in the blueprint.
        directory: the directory of the blueprint.
        volume_mounts: directories by mount name.
        discovers: whether this instance discovers tasks, in the runner; otherwise it reads tasks, in a worker of Spark.

    Example:
        A file next to the blueprint, in a batch source::

            pages = (context.directory / "pages.txt").read_text().split()
    """

    streamlet: str
    directory: Path
    volume_mounts: Mapping[str, Path] = field(default_factory=dict)
    discovers: bool = False

    def path(self, setting: str) -> Path:
        """Return the absolute path that a setting refers to; relative paths start in the directory of the blueprint.

        Arguments:
            setting: the path.
        """
        return (self.directory / Path(setting).expanduser()).absolute()
