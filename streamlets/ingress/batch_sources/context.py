"""`SourceContext`: the environment of a batch source, in the runner and in the workers; what discovers its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from blueprint.avro.model import Contract
from blueprint.settings.secrets import Secrets
from streamlets.ingress.secret_source import read_secret


class Eat(Protocol):
    """Takes the tasks of a discovery.

    Example:
        In `discover`, a task with a key that was eaten before is not read again::

            eat({"file": "orders-1.csv"}, key="orders-1.csv")
    """

    @property
    def remembered(self) -> Any:
        """The value that was remembered last, also in an earlier run; None if there is none."""

    def __call__(self, task: object, *, key: str | None = None, remember: Any = None) -> bool:
        """Take a task, which is durable within 100 ms.

        Arguments:
            task: what `prepare` needs to read it: bytes, or plain JSON data.
            key: what makes the task the same as another one, such as a file's path and version. A task is dropped if
                one with this key was discovered before; None never drops it.
            remember: plain JSON data for the next discovery, such as how far this one has come, which is stored with
                the task in one step, also if the task is dropped; None keeps what was remembered.

        Returns:
            Whether the task is new.
        """

    def remember(self, value: Any) -> None:
        """Remember a value for the next discovery; it is stored at the end of this one, with all its tasks.

        Arguments:
            value: as for a task.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContext:
    """The environment of a batch source.

    Arguments:
        streamlet: the name of the source in the blueprint.
        directory: the directory of the blueprint.
        volume_mounts: directories by mount name.
        secrets: takes the secrets that the source reads, which no file and no output shows.
        contract: the contract of the outlet; None in tests of `open` alone.
        discovers: whether this instance discovers tasks, in the runner; otherwise it reads tasks, in a worker of Spark.

    Example:
        A file next to the blueprint, in a batch source::

            pages = (context.directory / "pages.txt").read_text().split()
    """

    streamlet: str
    directory: Path
    volume_mounts: Mapping[str, Path] = field(default_factory=dict)
    contract: Contract | None = field(default=None, repr=False)
    discovers: bool = False
    secrets: Secrets = field(default_factory=Secrets)

    def path(self, setting: str) -> Path:
        """Return the absolute path that a setting refers to; relative paths start in the directory of the blueprint.

        Arguments:
            setting: the path.
        """
        return (self.directory / Path(setting).expanduser()).absolute()

    def secret(self, setting: object) -> str:
        """Return the secret that a setting refers to; what a run shows and stores has `(secret)` in its place.

        Arguments:
            setting: the value of an `ObjectParameter`: `{ env = NAME }` or `{ file = PATH }`.

        Raises:
            ValueError: it is not a reference to a secret.
            OSError: the variable is not set, or the file cannot be read.
        """
        return read_secret(setting, self.directory, self.secrets)


class Discovering(Protocol):
    """The part of a batch source that discovers tasks."""

    def open(self, config: Any, context: SourceContext) -> None: ...
    def discover(self, eat: Eat, event: str) -> None: ...
    def close(self) -> None: ...
