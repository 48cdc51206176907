"""`Identity`: the id of the topic that an application uses, so that a later one with its name is noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlets.channels.base import TopicLostError
from streamlets.storage import objects
from streamlets.storage.damage import read_whole


@dataclass(frozen=True, slots=True)
class Identity:
    """The id of a topic, as the application found it first.

    Arguments:
        path: the file that stores it.
        application: the name of the application.
    """

    path: Path
    application: str = ""

    @property
    def writers(self) -> str:
        """The prefix of the names of the application's writers; "" for a topic that was used before prefixes existed.

        The prefix prevents writers of other applications from fencing them.
        """
        content = self._read()
        named = self.application if content is None else content.get("application")
        return f"{named}." if named else ""

    @property
    def created(self) -> bool:
        """Whether the application has created the topic; False if it existed before, or that was not stored."""
        content = self._read()
        return content is not None and content.get("created") is True

    def check(self, topic: str, id: str, *, created: bool = False) -> None:
        """Store the id of a topic if there is none; otherwise compare.

        Arguments:
            topic: the name of the topic.
            id: the id of the topic as it exists.
            created: whether the application has just created it.

        Raises:
            TopicLostError: it is another topic.
            DamagedFileError: the file is damaged.
        """
        stored = self._read()
        if stored is None:
            content = {"topic": topic, "id": id, "application": self.application, "created": created}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            objects.put_if_absent(self.path, json.dumps(content).encode())
        elif stored["id"] != id:
            raise TopicLostError(
                f"the topic `{topic}` was deleted and created again; reset the checkpoints of its readers with "
                f"`flow checkpoints reset`, and delete {self.path} to use the new topic"
            )

    def _read(self) -> Mapping[str, Any] | None:
        remedy = (
            "delete it: the topic that exists is then taken for the one that the application has used, but not for one "
            "that it has created"
        )
        return read_whole(self.path, _parsed, "the id of a topic", remedy)


def _parsed(data: bytes) -> Mapping[str, Any]:
    content = json.loads(data)
    return {**content, "id": str(content["id"])}
