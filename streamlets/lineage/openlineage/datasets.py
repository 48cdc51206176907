"""Names of topics, files and Kafka topics by OpenLineage's convention: a namespace, and a name in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from blueprint.plan import TopicPlan

_FILES = frozenset({"parquet", "orc", "json", "csv", "text", "avro", "xml", "delta", "table"})
"""Formats whose option `path` names the data."""

_SERVERS = re.compile(r"(?:^| )kafka\.bootstrap\.servers=([^\s,]+)")
_TOPIC = re.compile(r"(?:^| )(?:subscribe|topic)=(\S+)")


@dataclass(frozen=True, slots=True, order=True)
class DatasetName:
    """The name of a dataset.

    Arguments:
        namespace: where it is, such as `kafka://broker:9092` or `file`.
        name: its name there.
    """

    namespace: str
    name: str


def topic_dataset(topic: TopicPlan, topics: Path) -> DatasetName:
    """Return the name of a topic.

    Arguments:
        topic: the topic.
        topics: the directory of the topics on the channel `delta`.
    """
    if topic.channel == "delta":
        return DatasetName("file", str((topics / topic.name).absolute()))
    server = topic.location.split(",")[0].strip()
    return DatasetName(f"{topic.channel}://{server}", topic.name)


def described_dataset(text: str, directory: Path) -> DatasetName | None:
    """Return the name of a source or sink; None if its description has no name of a dataset.

    Arguments:
        text: the format, the path if it has one, and options as `key=value`.
        directory: where relative paths start.
    """
    format, _, rest = text.partition(" ")
    if format == "kafka":
        servers, topic = _SERVERS.search(text), _TOPIC.search(text)
        return DatasetName(f"kafka://{servers[1]}", topic[1]) if servers and topic else None
    path = re.split(r" \w[\w.]*=", rest)[0].strip()
    if format not in _FILES or not path or "=" in path:
        return None
    return file_dataset(path, directory)


def file_dataset(path: str, directory: Path) -> DatasetName:
    """Return the name of files at a path or a URL, such as `s3://bucket/orders`."""
    url = urlsplit(path)
    if url.scheme and url.scheme != "file":
        scheme = "s3" if url.scheme in ("s3a", "s3n") else url.scheme
        return DatasetName(f"{scheme}://{url.hostname or ''}", url.path.strip("/") or "/")
    return DatasetName("file", str(directory.joinpath(url.path if url.scheme else path).absolute()))
