"""A channel over Redis Streams: a commit of a topic is an entry in two streams, of its data and of what describes it.

A commit and the state of its writer are stored in one transaction (`WATCH`, `MULTI`, `EXEC`), so a batch is in a topic
completely or not at all, and once. Several applications and machines can share a server.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import time
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from blueprint.catalog import ChannelTraits, SparkArtifacts, TopicProblem, TopicSettings, UnmetRequirement
from blueprint.plan import TopicPlan
from blueprint.setting import Scope, Setting
from blueprint.setting_types import STRING
from streamlets.channels.base import ChannelUnavailableError, Missed, TopicWriteError
from streamlets.channels.channel_type import ChannelType
from streamlets.channels.small import RETENTION, Commit, Content, PurgingTopic, SmallChannel, WriterState
from streamlets.checks import Check, State
from streamlets.override import override

_DOC = "The server: `redis://host:port/database`, or `rediss://` with TLS; with `user:password@` before the host."
URL = Setting("url", STRING, _DOC, secret=True)
TOPIC_URL = Setting("url", STRING, f"{_DOC} It replaces `flow.redis.url`.", scope=Scope.TOPIC, secret=True)
SCHEMES = ("redis", "rediss")
Result = TypeVar("Result")
PATIENCE = 10.0
"""Seconds until a server that does not answer counts as unavailable."""


def url_of(options: object, channel_options: object) -> str:
    """Return the URL of a topic's server; "" without one."""
    assert isinstance(options, dict)
    assert isinstance(channel_options, dict)
    return str(TOPIC_URL.of(options) or URL.of(channel_options) or "")


def location(topic: TopicSettings) -> str:
    """Return the server and the database of a topic, without its password."""
    url = url_of(dict(topic.options), dict(topic.channel_options))
    return shown(url) if is_valid(url) else ""


def shown(url: str) -> str:
    """Return a valid URL without user and password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or 6379}/{parts.path.strip('/') or 0}"


def is_valid(url: str) -> bool:
    """Return whether a URL is one of a Redis server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number
        return False


def problems(topic: TopicSettings) -> Iterator[TopicProblem]:
    """Yield problems with the URL of a topic."""
    url = url_of(dict(topic.options), dict(topic.channel_options))
    path = ("url",) if TOPIC_URL.of(topic.options) else ("redis", "url")
    help = ('set `flow.redis.url = "redis://host:6379/0"`',)
    if not url:
        message = f"the topic `{topic.id}` has no Redis server"
        yield TopicProblem("servers-missing", ("channel",), message, help=help)
    elif not is_valid(url):
        expected = "expected `redis://host:port/database` or `rediss://...`"
        yield TopicProblem("servers-missing", path, f"invalid URL of a Redis server: {expected}", help=help)


def unmet(artifacts: SparkArtifacts) -> Iterator[UnmetRequirement]:
    """Yield the missing package."""
    if importlib.util.find_spec("redis") is None:
        message = "the redis channel needs the Python package `redis`, which is not installed"
        yield UnmetRequirement((), message, "install it: `pip install redis`")


TRAITS = ChannelTraits(
    name="redis",
    reserved=("_", "."),
    settings=(RETENTION, URL, TOPIC_URL),
    location=location,
    problems=problems,
    unmet=unmet,
    purges=True,
    deletes=True,
)


class RedisChannelType(ChannelType):
    """The channel, as it is registered."""

    traits = TRAITS

    @override
    def open(self, directory: Path) -> RedisChannel:
        return RedisChannel(directory / "_redis")

    @override
    def check(self, topics: Sequence[TopicPlan]) -> Iterable[Check]:
        for url in sorted({url_of(dict(topic.options), dict(topic.channel_options)) for topic in topics}):
            subject, help = f"Redis {shown(url)}", "check that the server runs and can be reached (`flow config`)"
            try:
                with answers(url):
                    persistence = client(url).info("persistence")
            except ChannelUnavailableError as error:
                yield Check(subject, State.ERROR, str(error), help)
                continue
            if persistence.get("aof_enabled"):
                yield Check(subject, State.OK, "answers, with an append-only file")
            else:
                detail = "keeps no append-only file: commits since its last snapshot are lost when it stops"
                yield Check(
                    subject, State.WARNING, detail, "set `appendonly yes` and `appendfsync always` of the server"
                )


class RedisChannel(SmallChannel):
    """Topics on servers, with what the application alone needs in a directory."""

    traits = TRAITS

    @override
    def opened(self, plan: TopicPlan, directory: Path) -> RedisTopic:
        return RedisTopic(plan, directory)


class RedisTopic(PurgingTopic):
    """A topic on a server. Its keys have a common hash tag, so that a cluster of Redis stores them in one place."""

    traits = TRAITS

    @property
    def url(self) -> str:
        """The URL of the server."""
        return url_of(dict(self.plan.options), dict(self.plan.channel_options))

    def key(self, part: str) -> str:
        """Return the key of a part of the topic."""
        return f"streamlets:{{{self.plan.name}}}:{part}"

    @property
    @override
    def id(self) -> str:
        return str(self.head()[0])

    @override
    def make(self) -> None:
        with answers(self.url):
            client(self.url).hsetnx(self.key("head"), "id", str(uuid.uuid4()))

    @override
    def delete(self) -> None:
        with answers(self.url):
            client(self.url).delete(*map(self.key, ("head", "commits", "data", "writers", "missed")))
        shutil.rmtree(self.directory, ignore_errors=True)

    @override
    def newest(self) -> int:
        return self.head()[1]

    @override
    def commits(self, after: int, until: int) -> list[Commit]:
        with answers(self.url):
            entries = client(self.url).xrange(self.key("commits"), f"({after}-0", f"{until}-0")
        self.head()
        return [Commit(number_of(id), **json.loads(fields[b"commit"])) for id, fields in entries]

    @override
    def data(self, commit: int) -> bytes | None:
        with answers(self.url):
            entries = client(self.url).xrange(self.key("data"), f"{commit}-0", f"{commit}-0")
        return bytes(entries[0][1][b"arrow"]) if entries else None

    @override
    def claim(self, writer: str, epoch: int) -> WriterState:
        def claimed(pipeline: Any, stored: WriterState, newest: int) -> WriterState:
            state = stored.claimed(writer, epoch)
            if state != stored:
                pipeline.hset(self.key("writers"), writer, state_json(state))
            return state

        return self.transaction(writer, claimed)

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        def published(pipeline: Any, stored: WriterState, newest: int) -> bool:
            if not stored.admits(writer, state):
                return False
            described = {"contract": content.contract, "records": content.records, "bytes": len(content.data)}
            id = f"{newest + 1}-0"
            pipeline.xadd(self.key("data"), {"arrow": content.data}, id)
            pipeline.xadd(self.key("commits"), {"commit": json.dumps({**described, "time": time.time()})}, id)
            pipeline.hset(self.key("head"), "newest", newest + 1)
            pipeline.hset(self.key("writers"), writer, state_json(state))
            return True

        return self.transaction(writer, published)

    @override
    def drop(self, commits: Collection[int], missed: Collection[Missed]) -> None:
        ids = [f"{number}-0" for number in commits]
        with answers(self.url):
            pipeline = client(self.url).pipeline()
            if missed:
                pipeline.rpush(self.key("missed"), *(json.dumps(asdict(loss)) for loss in missed))
            pipeline.xdel(self.key("commits"), *ids)
            pipeline.xdel(self.key("data"), *ids)
            pipeline.execute()

    @override
    def missed(self) -> Iterator[Missed]:
        with answers(self.url):
            entries = client(self.url).lrange(self.key("missed"), 0, -1)
        for entry in entries:
            yield Missed(**json.loads(entry))
            with answers(self.url):
                client(self.url).lrem(self.key("missed"), 1, entry)

    def head(self) -> tuple[str, int]:
        """Return the id of the topic and the number of its last commit.

        Raises:
            TopicLostError: the topic does not exist.
        """
        with answers(self.url):
            id, newest = client(self.url).hmget(self.key("head"), "id", "newest")
        if id is None:
            raise self.not_found()
        return id.decode(), int(newest or 0)

    def transaction(self, writer: str, change: Callable[[Any, WriterState, int], Result]) -> Result:
        """Change a topic in one transaction, which begins again if another one came between.

        Arguments:
            writer: the writer.
            change: queues commands, and is called with the pipeline for them, the stored state of the writer and the
                number of the last commit.

        Returns:
            What `change` returned.

        Raises:
            TopicLostError: the topic does not exist.
            TopicWriteError: the server does not answer, or refuses the commands.
        """
        from redis import RedisError, WatchError

        try:
            with client(self.url).pipeline() as pipeline:
                while True:
                    pipeline.watch(self.key("head"), self.key("writers"))
                    _, newest = self.head()
                    stored = pipeline.hget(self.key("writers"), writer)
                    pipeline.multi()
                    result = change(pipeline, state_of(stored), newest)
                    try:
                        pipeline.execute()
                        return result
                    except WatchError:
                        continue
        except (RedisError, ChannelUnavailableError) as error:
            raise TopicWriteError(f"cannot write to the topic `{self.plan.name}`: {error}") from None


def state_json(state: WriterState) -> str:
    """Return the state of a writer as it is stored."""
    marker = None if state.marker is None else b64encode(state.marker).decode()
    return json.dumps({**asdict(state), "marker": marker})


def state_of(stored: bytes | None) -> WriterState:
    """Return the state of a writer from what is stored; None stands for nothing."""
    if stored is None:
        return WriterState()
    fields = json.loads(stored)
    marker = fields["marker"]
    return WriterState(fields["epoch"], fields["sequence"], None if marker is None else b64decode(marker))


def number_of(id: bytes) -> int:
    """Return the number of a commit from the id of its entries."""
    return int(id.partition(b"-")[0])


@cache
def client(url: str) -> Any:
    """Return the client of a server in this process, whose connections are opened when they are used."""
    from redis import Redis

    return Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)


@contextmanager
def answers(url: str) -> Iterator[None]:
    """Raise the errors of a server as one that a repetition may fix.

    Raises:
        ChannelUnavailableError: the server does not answer, or refuses a request.
    """
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise ChannelUnavailableError(f"the Redis server {shown(url)} does not answer: {error}") from None
