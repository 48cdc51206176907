"""`Identity`: the id of the topic that an application uses, so that a later one with its name is noticed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from streamlets.channels.base import TopicLostError
from streamlets.storage import objects


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
        data = objects.read(self.path)
        named = self.application if data is None else json.loads(data).get("application")
        return f"{named}." if named else ""

    @property
    def created(self) -> bool:
        """Whether the application has created the topic; False if it existed before, or that was not stored."""
        data = objects.read(self.path)
        return data is not None and json.loads(data).get("created") is True

    def check(self, topic: str, id: str, *, created: bool = False) -> None:
        """Store the id of a topic if there is none; otherwise compare.

        Arguments:
            topic: the name of the topic.
            id: the id of the topic as it exists.
            created: whether the application has just created it.

        Raises:
            TopicLostError: it is another topic.
        """
        data = objects.read(self.path)
        if data is None:
            content = {"topic": topic, "id": id, "application": self.application, "created": created}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            objects.put_if_absent(self.path, json.dumps(content).encode())
        elif json.loads(data)["id"] != id:
            raise TopicLostError(
                f"the topic `{topic}` was deleted and created again; reset the checkpoints of its readers with "
                f"`flow checkpoints reset`, and delete {self.path} to use the new topic"
            )
