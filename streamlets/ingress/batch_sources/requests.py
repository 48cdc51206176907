"""Requests to repeat failed tasks: files in the state directory, which the runner carries out."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from streamlets.ingress.batch_sources.tasks import Task
from streamlets.storage import objects
from streamlets.storage.damage import read_whole

_DIRECTORY = "retries"


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """A request to repeat a task.

    Arguments:
        path: its file.
        number: the number of the failed task.
        value: the task.
        key: the key of the task.
    """

    path: Path
    number: int
    value: Any
    key: str | None

    def remove(self) -> None:
        """Remove it, once it is carried out."""
        self.path.unlink(missing_ok=True)


def request_retry(directory: Path, task: Task) -> bool:
    """Request that a failed task is read again. A repeated request has no effect.

    Arguments:
        directory: the directory of the source in the state directory.
        task: the task.

    Returns:
        Whether the request is new.
    """
    requests = directory / _DIRECTORY
    requests.mkdir(parents=True, exist_ok=True)
    payload = base64.b64encode(task.payload).decode()
    content = {"number": task.number, "payload": payload, "encoding": task.encoding, "key": task.key}
    return objects.put_if_absent(requests / f"{task.number}.json", json.dumps(content).encode())


def retry_requests(directory: Path) -> Iterator[RetryRequest]:
    """Yield the requests of a source that are not carried out yet; see `request_retry`.

    Raises:
        DamagedFileError: the file of a request is damaged.
    """
    for path in sorted((directory / _DIRECTORY).glob("*.json")):
        remedy = f"delete it, and run `flow tasks retry {directory.name} --task {path.stem}`"
        request = read_whole(path, partial(_request, path), "a request to repeat a task", remedy)
        if request is not None:  # otherwise it was carried out
            yield request


def _request(path: Path, data: bytes) -> RetryRequest:
    content = json.loads(data)
    payload = base64.b64decode(content["payload"])
    value = payload if content["encoding"] == "bytes" else json.loads(payload)
    return RetryRequest(path, int(content["number"]), value, content["key"])
