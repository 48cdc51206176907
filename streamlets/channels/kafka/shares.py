"""`Shares`: the stored messages of a batch, and which task sends which of them, decided once.

The messages are Parquet files with the columns `key`, `value`, `topic`, and further ones. The number of tasks is part
of the decision, because each has transactions of its own: a replay has the same tasks, and each finds what it has
committed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from streamlets.storage import objects
from streamlets.storage.damage import DamagedFileError, damaged, read_whole

Decision = TypeVar("Decision")

FILE = "_shares.json"
"""The name of the file; Spark does not read files whose names begin with `_`."""

REMEDY = "reset the checkpoint of the query with `flow checkpoints reset`: records may be sent again"
"""What to do if files of a batch are lost."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one task sends.

    Arguments:
        files: its files, in the order in which they are sent.
        messages: the number of messages in them.
    """

    files: tuple[str, ...]
    messages: int


@dataclass(frozen=True, slots=True)
class Shares:
    """How a batch is sent.

    Arguments:
        id: distinguishes it from another decision about a batch with the same number.
        tasks: the shares of the tasks; () without messages.
        letters: how many of the messages are dead letters.
    """

    id: str
    tasks: tuple[Share, ...]
    letters: int = 0

    @property
    def messages(self) -> int:
        """The number of messages."""
        return sum(share.messages for share in self.tasks)

    @classmethod
    def of(cls, id: str, files: Sequence[tuple[str, int]], tasks: int, letters: int = 0) -> Shares:
        """Return files shared out to tasks, each with files that follow each other and about as many messages.

        Arguments:
            id: the id of the decision.
            files: the names of the files and the number of messages in each, in their order.
            tasks: the maximum number of tasks.
            letters: how many of the messages are dead letters.
        """
        total, done = sum(messages for _, messages in files), 0
        shared: dict[int, list[tuple[str, int]]] = {}
        for name, messages in files:
            if messages:
                middle = done + messages / 2
                shared.setdefault(int(middle * tasks / total), []).append((name, messages))
                done += messages
        shares = (Share(tuple(name for name, _ in part), sum(n for _, n in part)) for part in shared.values())
        return cls(id, tuple(shares), letters)

    @classmethod
    def read(cls, directory: Path) -> Shares | None:
        """Return the decision that is stored in a directory; None if there is none.

        Raises:
            DamagedFileError: the file is damaged.
        """
        return read_decision(directory, cls.from_content)

    def write(self, directory: Path) -> None:
        """Store the decision in a directory. Then it is not decided again."""
        write_decision(directory, self.to_content())

    def to_content(self) -> dict[str, Any]:
        """Return the decision as it is stored in JSON."""
        tasks = [{"files": share.files, "messages": share.messages} for share in self.tasks]
        return {"id": self.id, "tasks": tasks, "letters": self.letters}

    @classmethod
    def from_content(cls, content: Any) -> Shares:
        """Return the decision from what `to_content` returned.

        Raises:
            ValueError, KeyError, TypeError: it is something else.
        """
        tasks = tuple(Share(tuple(map(str, task["files"])), int(task["messages"])) for task in content["tasks"])
        return cls(str(content["id"]), tasks, int(content["letters"]))


def require_whole(files: Sequence[Path], messages: int) -> None:
    """Require that stored files have the messages that were decided.

    Arguments:
        files: the files of a share.
        messages: the number of messages in them.

    Raises:
        DamagedFileError: a file is missing, incomplete, or from elsewhere.
    """
    import pyarrow.parquet as pq

    stored = 0
    for file in files:
        try:
            stored += pq.read_metadata(file).num_rows
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            data = None if missing else b"" if not file.stat().st_size else b"not Parquet"
            raise damaged("a file with messages of a batch for Kafka", file, data, REMEDY) from None
    if stored != messages:
        raise DamagedFileError(
            f"the stored messages of a batch for Kafka are {stored:,}, not {messages:,}, in "
            f"{', '.join(map(str, files))}; restore the files from a backup; otherwise {REMEDY}"
        )


def read_decision(directory: Path, parse: Callable[[Any], Decision]) -> Decision | None:
    """Return the decision about a batch that is stored in a directory; None if there is none.

    Arguments:
        directory: the directory of the batch.
        parse: returns the decision from its JSON; raises ValueError, KeyError or TypeError if it is not one.

    Raises:
        DamagedFileError: the file is damaged.
    """
    return read_whole(directory / FILE, lambda data: parse(json.loads(data)), "the plan of a batch for Kafka", REMEDY)


def write_decision(directory: Path, content: object) -> None:
    """Store the decision about a batch in its directory.

    Arguments:
        directory: the directory of the batch.
        content: the decision, which JSON can represent.
    """
    directory.mkdir(parents=True, exist_ok=True)
    objects.replace(directory / FILE, json.dumps(content).encode())
