"""`SmallTopic`: a topic that Spark reads by scans."""

from __future__ import annotations

import abc
import json
import pickle
from base64 import b64encode
from typing import TYPE_CHECKING

from streamlets.channels.base import METADATA, METADATA_DDL, Position, TopicLostError, TopicResource
from streamlets.override import override

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.plan import InletPlan

FORMAT = "streamlets_small_topic"
"""The name of the data source in Spark."""


class SmallTopic(TopicResource):
    """A topic whose commits have numbers, and which Spark reads by scans, one task per batch.

    A position has the id of the topic and the number of the last commit before it. The topic can be pickled, because
    tasks run in processes of their own.
    """

    @property
    @abc.abstractmethod
    def id(self) -> str:
        """The id of the topic, which distinguishes it from a later one with its name.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def position(self, commit: int) -> Position:
        """Return the position after a commit.

        Arguments:
            commit: the number of the commit; 0 for the beginning of the topic.
        """
        return Position(json.dumps({"topic": self.id, "commit": commit}))

    def number(self, position: Position | None) -> int:
        """Return the number of the last commit before a position; 0 at the beginning of the topic.

        Arguments:
            position: the position; None for the beginning of the topic.

        Raises:
            TopicLostError: the position is not one of this topic.
        """
        if position is None:
            position = self.position(0)
        content = json.loads(position.json)
        if content["topic"] != self.id:
            raise TopicLostError(f"the topic `{self.plan.name}` was deleted and created again after it was read")
        return int(content["commit"])

    @override
    def owns(self, position: Position) -> bool:
        try:
            return self.number(position) >= 0
        except (TopicLostError, ValueError, KeyError, TypeError):
            return False

    @abc.abstractmethod
    def advance(self, after: Position, until: Position, records: int) -> Position:
        """Return the end of a batch: after whole commits with at most a number of records, and after one at least.

        Arguments:
            after: the position where the batch begins.
            until: the last position that is allowed.
            records: the maximum number of records of several commits.
        """

    @override
    def read(
        self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False, replicas: int | None = None
    ) -> DataFrame:
        from pyspark.sql.types import StructField, StructType, _parse_datatype_string

        from streamlets.contract.types import spark_schema

        schema = spark_schema(inlet.contract)
        if metadata:
            schema = StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
        reading = b64encode(pickle.dumps((self, inlet, metadata))).decode()
        reader = session.readStream.format(FORMAT).schema(schema).option("reading", reading)
        return (reader.name(name) if name else reader).load()
