"""`streamlets.Source` under test, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlets import Source
from streamlets.testkit import Testkit
from streamlets.testkit.batch_source_under_test import BatchSourceUnderTest

ORDER = "id long NOT NULL, product string, price double"


class Bench:
    """A source and its records.

    Arguments:
        kit: the kit of the test.
        root: the directory of the files.
        source: the name of the source.
        schema: the schema of its outlet.
        options: its options.
        parameters: further parameters of the streamlet.
    """

    def __init__(
        self, kit: Testkit, root: Path, source: str, schema: str = ORDER, *,
        parameters: Mapping[str, object] | None = None, **options: object,
    ) -> None:  # fmt: skip
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        named = {name.replace("_", "-"): value for name, value in options.items()}
        own = {} if "path" in named or source in ("http", "jdbc") else {"path": str(root)}
        files = {} if source in ("http", "jdbc") else {"settle": "0 s"}
        self.source: BatchSourceUnderTest = kit.batch_source(
            Source,
            parameters={"from": source, "options": {**own, **files, **named}, **(parameters or {})},
            schemas={"out": schema},
        )

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self) -> list[dict[str, Any]]:
        """Discover once, read all tasks, and return the records that are new."""
        self.source.run()
        return self.source.outlet("out").take()

    def letters(self) -> list[tuple[str, str]]:
        """Return the text and the reason of each dead letter that is new."""
        return [(letter["record"], letter["reason"]) for letter in self.source.dead_letters.take()]


class Eaten:
    """The tasks of a discovery without a writer."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []
        self.remembered: Any = None

    def __call__(self, task: object, *, key: str | None = None, remember: Any = None) -> bool:
        """Take a task."""
        self.tasks.append(task)
        return True

    def remember(self, value: Any) -> None:
        """Remember a value."""
        self.remembered = value
