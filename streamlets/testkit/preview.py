"""`preview`: the output of a streamlet for some records as a DataFrame, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.api.streamlet import SparkStreamlet
from streamlets.contract.types import spark_schema
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.kit import Testkit
from streamlets.testkit.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def preview(
    streamlet: SparkStreamlet | type[SparkStreamlet],
    inlets: Mapping[str, object] | None = None,
    *,
    outlet: str | None = None,
    parameters: Mapping[str, object] | None = None,
    schemas: Mapping[str, str] | None = None,
    volume_mounts: Mapping[str, str | Path] | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """Feed the inlets, step once, and return the records of an outlet.

    Arguments:
        streamlet: a class or an instance.
        inlets: records by inlet name: dicts, an Arrow table, or a DataFrame of pandas or Spark.
        outlet: the name of the outlet; it may be omitted if there is only one.
        parameters: as for `Testkit.streamlet`.
        schemas: as for `Testkit.streamlet`.
        volume_mounts: as for `Testkit.streamlet`.
        spark: a session; default: the active session, or a new one.

    Raises:
        TestkitError: the streamlet, a schema or a value is invalid, or `outlet` is missing.
        RecordError: a record breaks the schema of its inlet.
        StreamletError: the logic uses the API in an invalid way.
        StepFailedError: a query failed.
    """
    import pyarrow as pa
    from pyspark.sql import SparkSession

    session = spark or SparkSession.getActiveSession() or start_session()
    with Testkit(session) as kit:
        app = kit.streamlet(streamlet, parameters=parameters, schemas=schemas, volume_mounts=volume_mounts)
        names = [port.name for port in app.plan.outlets]
        if outlet is None and len(names) != 1:
            raise TestkitError(f"pass the `outlet` to show: the streamlet has {', '.join(names) or 'none'}")
        port = next((port for port in app.plan.outlets if port.name == (outlet or names[0])), None)
        tap = app.outlet(outlet or names[0])
        for name, records in (inlets or {}).items():
            app.inlet(name).put(records)
        app.step()
        assert port is not None
        schema = spark_schema(port.contract)
        batches = tap.batches()
        if not batches:
            return session.createDataFrame([], schema)
        return session.createDataFrame(pa.Table.from_batches(batches), schema)
