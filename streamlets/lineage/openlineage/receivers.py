"""Where OpenLineage events go: a file, a URL, or what the configuration of the OpenLineage client names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde

from streamlets.runner.views import ViewError

_CONFIGURED = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
_TRANSPORT = "OPENLINEAGE__"
_FILES = (Path("openlineage.yml"), Path("~/.openlineage/openlineage.yml"))


class Receiver(Protocol):
    """Takes events."""

    def emit(self, event: RunEvent) -> object:
        """Take an event; may take long, and may raise any exception."""


class EventFile:
    """A file to which each event is appended as a line of JSON.

    Arguments:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def emit(self, event: RunEvent) -> None:
        """Append an event."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{Serde.to_json(event)}\n")


def receiver_of(argument: str) -> Receiver:
    """Return the receiver of events.

    Arguments:
        argument: a file, or a URL without credentials; "" for the configuration of the OpenLineage client.

    Raises:
        ViewError: there is no configuration, the URL has credentials, or the file cannot be written.
    """
    if not argument:
        if not _is_configured():
            raise ViewError(
                "it needs a receiver: write a file or a URL, as in `--view openlineage=events.jsonl`, or set "
                "`OPENLINEAGE_URL` or `OPENLINEAGE_CONFIG`"
            )
        return OpenLineageClient()
    if argument.startswith(("http://", "https://")):
        url = urlsplit(argument)
        if url.username or url.password or url.query:
            raise ViewError("the URL has credentials, which others can read in a command line: set OPENLINEAGE_API_KEY")
        return OpenLineageClient(config={"transport": _http(argument)})
    file = Path(argument)
    try:
        file.open("a", encoding="utf-8").close()
    except OSError as error:
        raise ViewError(f"`{argument}` cannot be written: {error.strerror or error}") from None
    return EventFile(file)


def _http(url: str) -> dict[str, object]:
    key = os.environ.get("OPENLINEAGE_API_KEY")
    return {"type": "http", "url": url} | ({"auth": {"type": "api_key", "apiKey": key}} if key else {})


def _is_configured() -> bool:
    variables = any(name in os.environ for name in _CONFIGURED)
    return (
        variables
        or any(name.startswith(_TRANSPORT) for name in os.environ)
        or any(file.expanduser().is_file() for file in _FILES)
    )
