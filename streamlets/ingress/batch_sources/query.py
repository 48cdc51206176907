"""The query of a batch source: from its tasks to its outlet and its dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from blueprint.model.blueprint import DEAD_LETTERS
from streamlets.api.context import StreamingWrite, TaskConnection
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.contract.types import spark_schema
from streamlets.ingress.batch_sources.progress import progress_file
from streamlets.ingress.batch_sources.reading import LETTER, RECORD
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.source import FORMAT, TaskSource
from streamlets.ingress.batch_sources.tasks import QUERY
from streamlets.runner.state_directory.places import places_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from blueprint.avro.model import Contract
    from streamlets.api.logic import SparkStreamletLogic


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """The settings of a source's tasks; see `SourceSettings`."""

    tasks: int
    attempts: int
    retry_delay: float
    timeout: float
    on_failure: Literal["dead-letters", "fail"]


def read_tasks(logic: SparkStreamletLogic[Any], limits: TaskLimits) -> StreamingWrite:
    """Return the query of a batch source, not started.

    Arguments:
        logic: the logic of the source.
        limits: the settings of its tasks.
    """
    context = logic.context
    (outlet,) = logic.streamlet.shape.outlets
    connection = context.ports.task_source(outlet.name)
    context.session.dataSource.register(TaskSource)
    rows = logic.source(
        "tasks",
        format=FORMAT,
        schema=_schema(connection.outlet.contract),
        options=_settings(logic, limits, connection).to_options() if connection.topic is not None else None,
    )
    if connection.replicas is not None:
        rows = rows.coalesce(connection.replicas)
    return logic.write_ports(rows, {connection.outlet.name: _records, DEAD_LETTERS: _letters}, QUERY)


def _schema(contract: Contract) -> StructType:
    from pyspark.sql.types import StructField, StructType

    letter = _nullable(spark_schema(dead_letter_contract()))
    return StructType([StructField(RECORD, _nullable(spark_schema(contract))), StructField(LETTER, letter)])


def _nullable(schema: StructType) -> StructType:
    """Return a schema whose fields may be null: the record of a dead letter is null, and so are its fields."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, True) for field in schema.fields])


def _records(rows: DataFrame) -> DataFrame:
    return rows.where(f"{LETTER} is null").select(f"{RECORD}.*")


def _letters(rows: DataFrame) -> DataFrame:
    return rows.where(f"{LETTER} is not null").select(f"{LETTER}.*")


def _settings(logic: SparkStreamletLogic[Any], limits: TaskLimits, connection: TaskConnection) -> SourceSettings:
    source, context = logic.streamlet, logic.context
    assert connection.topic is not None
    return SourceSettings(
        class_name=f"{type(source).__module__}.{type(source).__qualname__}",
        streamlet=context.streamlet_ref,
        project=str(context.directory),
        config=context.config,
        volume_mounts={name: str(directory) for name, directory in context.volume_mounts.items()},
        outlet=connection.outlet.name,
        contract=connection.outlet.contract.json,
        broken_records=connection.outlet.on_invalid == "dead-letters",
        max_tasks=limits.tasks,
        max_attempts=limits.attempts,
        retry_delay=limits.retry_delay,
        timeout=limits.timeout,
        on_failure=limits.on_failure,
        topic=connection.topic,
        topics=context.state / "topics",
        progress=progress_file(context.state, context.streamlet_ref),
        places=places_of(context.state),
        secrets=connection.secrets,
        version=connection.version,
    )
