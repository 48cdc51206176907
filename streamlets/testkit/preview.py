"""`preview`: what a streamlet makes of some records, as a DataFrame; for notebooks."""

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
    """Feed the inlets, step once, and give what came out of an outlet.

    Arguments:
        streamlet: a class or an instance.
        inlets: records by inlet name: dicts, an Arrow table, or a DataFrame of pandas or Spark.
        outlet: which one; may be left out when there is only one.
        parameters, schemas, volume_mounts: as in `Testkit.streamlet`.
        spark: a session; None takes the active one, or starts one.

    Raises:
        TestkitError, RecordError, StreamletError, StepFailedError: as the testkit does.
    """
    import pyarrow as pa
    from pyspark.sql import SparkSession

    session = spark or SparkSession.getActiveSession() or start_session()
    with Testkit(session) as kit:
        app = kit.streamlet(streamlet, parameters=parameters, schemas=schemas, volume_mounts=volume_mounts)
        names = [port.name for port in app.plan.outlets]
        if outlet is None and len(names) != 1:
            raise TestkitError(f"say which `outlet` to show: there are {', '.join(names) or 'none'}")
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
