"""Python functions that were created before Spark, and are used by several Sparks in succession."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from streamlets.spark.functions import renew_functions


def _gateway() -> Any:
    return SimpleNamespace(_gateway_client=object())


def test_a_function_forgets_the_java_object_of_a_process_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its Java object while that Java process is running; PySpark creates another one with the next."""
    made_before: Any = F.udf(lambda n: n, LongType())
    renew_functions()
    renew_functions()  # each start of Spark asks for it
    made_after: Any = F.udf(lambda n: n, LongType())
    first, second = _gateway(), _gateway()
    for wrapper in (made_before, made_after):
        (function,) = [
            cell.cell_contents for cell in wrapper.__closure__ if hasattr(cell.cell_contents, "returnType")
        ]  # fmt: skip
        monkeypatch.setattr(SparkContext, "_gateway", first)
        assert function._judf_placeholder is None
        function._judf_placeholder = java = SimpleNamespace(_gateway_client=first._gateway_client)
        assert function._judf_placeholder is java
        monkeypatch.setattr(SparkContext, "_gateway", second)
        assert function._judf_placeholder is None
        monkeypatch.setattr(SparkContext, "_gateway", None)
        assert function._judf_placeholder is None
