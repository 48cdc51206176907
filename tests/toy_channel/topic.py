"""A topic of the channel: what `TopicResource` asks, answered from the headers of all commits."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType, _parse_datatype_string

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import InletPlan, TopicPlan
from streamlets.channels.base import (
    METADATA,
    METADATA_DDL,
    Dropped,
    Missed,
    Position,
    Reader,
    TopicLostError,
    TopicResource,
    TopicSummary,
    WriterSummary,
)
from streamlets.channels.replays import Replays
from streamlets.contract.types import spark_schema
from streamlets.override import override
from streamlets.storage import objects
from tests.toy_channel.appender import ToyAppender
from tests.toy_channel.commits import TRAITS, Commit, commits_of, create_topic, empty_commit, end_of, topic_id


class ToyTopic(TopicResource):
    """A topic in a directory."""

    traits = TRAITS

    def __init__(self, path: Path, plan: TopicPlan) -> None:
        self.plan = plan
        self._path = path

    @override
    def create(self, contracts: Iterable[Contract]) -> None:
        if self.plan.managed:
            create_topic(self._path)
        else:
            topic_id(self._path)

    @override
    def read(self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False) -> DataFrame:
        schema = spark_schema(inlet.contract)
        if metadata:
            schema = StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
        reading = {
            "topic": str(self._path),
            "contract": inlet.contract.json,
            "starting": inlet.starting,
            "max_records": inlet.max_records,
            "metadata": metadata,
            "inlet": f"{inlet.streamlet}.{inlet.name}",
        }
        reader = session.readStream.format("toy_topic").schema(schema).option("reading", json.dumps(reading))
        return (reader.name(name) if name else reader).load()

    @override
    def appender(
        self, contract: Contract, *, writer: str, epoch: int = 0, partition_by: tuple[str, ...] = ()
    ) -> ToyAppender:
        return ToyAppender(self._path, contract, writer, epoch)

    @override
    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        commits = self._between(after, until or self.end())
        return (batch for commit in commits for batch in commit.read(reader, metadata=metadata))

    @override
    def end(self) -> Position:
        return Position(json.dumps({"topic": topic_id(self._path), "next": end_of(self._path)}))

    @override
    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        return sum(commit.header.records for commit in self._between(after, until))

    @override
    def owns(self, position: Position) -> bool:
        try:
            return bool(json.loads(position.json)["topic"] == topic_id(self._path))
        except (TopicLostError, ValueError, KeyError, TypeError):
            return False

    @override
    def purge(
        self,
        readers: Iterable[Reader],
        *,
        before: float | None = None,
        schema: str | None = None,
        force: bool = False,
        dry: bool = False,
    ) -> Dropped:
        chosen = {
            commit.number: commit
            for commit in self._between(None, self.end())
            if commit.header.records
            and (before is None or commit.header.time < before * 1000)
            and (schema is None or parse_contract(commit.header.contract).fingerprint == schema)
        }
        held, missed, kept = Counter[str](), list[Missed](), set[int]()
        for reader in readers:
            unread = [commit for commit in chosen.values() if commit.number >= self._number(reader.committed)]
            if unread and force:
                missed.append(
                    Missed(
                        topic=self.plan.name,
                        reader=reader.name,
                        first=str(unread[0].number),
                        last=str(unread[-1].number),
                        records=sum(commit.header.records for commit in unread),
                        time=time.time(),
                        cause="flow topics purge",
                    )
                )
            elif unread:
                held[reader.name] = sum(commit.header.records for commit in unread)
                kept |= {commit.number for commit in unread}
        dropped = [commit for number, commit in chosen.items() if number not in kept]
        result = Dropped(
            records=sum(commit.header.records for commit in dropped),
            bytes=sum(commit.path.stat().st_size for commit in dropped),
            files=len(dropped),
            held=held,
            missed=tuple(missed),
        )
        for commit in () if dry else dropped:
            empty_commit(commit)
        for number, entry in enumerate(() if dry else missed):
            note = self._path / f"missed-{time.time_ns()}-{number}.json"
            objects.put_if_absent(note, json.dumps(asdict(entry)).encode())
        return result

    @override
    def missed(self) -> Iterator[Missed]:
        for path in sorted(self._path.glob("missed-*.json")):
            yield Missed(**json.loads(path.read_text()))
            path.unlink()

    @override
    def summary(self) -> TopicSummary:
        commits = [commit for commit in self._between(None, self.end()) if commit.header.sequence >= 0]
        by_contract: dict[str, list[Commit]] = {}
        for commit in commits:
            by_contract.setdefault(commit.header.contract, []).append(commit)
        writers = []
        for text, own in by_contract.items():
            contract = parse_contract(text)
            writers.append(
                WriterSummary(
                    record=contract.record.name,
                    fingerprint=contract.fingerprint,
                    queries=tuple(sorted({commit.header.writer for commit in own})),
                    records=sum(commit.header.records for commit in own),
                    bytes=sum(commit.path.stat().st_size for commit in own),
                    commits=len(own),
                )
            )
        times = [commit.header.time / 1000 for commit in commits if commit.header.records]
        return TopicSummary(
            name=self.plan.name,
            records=sum(commit.header.records for commit in commits),
            bytes=sum(commit.path.stat().st_size for commit in commits),
            last_commit=max(times, default=None),
            writers=tuple(writers),
        )

    @override
    def contracts(self) -> tuple[Contract, ...]:
        texts = {commit.header.contract for commit in self._between(None, self.end()) if commit.header.records}
        return tuple(sorted(map(parse_contract, texts), key=lambda contract: contract.fingerprint))

    @property
    @override
    def replays(self) -> Replays:
        return Replays(self._path / "replays", topic_id(self._path))

    def _between(self, after: Position | None, until: Position) -> list[Commit]:
        return commits_of(self._path, self._number(after), self._number(until))

    def _number(self, position: Position | None) -> int:
        """Return the number of the first commit after a position.

        Raises:
            TopicLostError: the position is not one of this topic.
        """
        if position is None:
            return 0
        content = json.loads(position.json)
        if content["topic"] != topic_id(self._path):
            raise TopicLostError(f"topic `{self.plan.name}` was deleted and created again after it was read")
        return int(content["next"])
