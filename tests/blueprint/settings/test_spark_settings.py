"""The names of Spark's settings: misspellings of each are found, names of plug-ins are not reported."""

from __future__ import annotations

import random
from importlib.metadata import version
from runpy import run_path

import pytest

from blueprint.settings.spark_settings import OPEN_PREFIXES, is_unknown, meant, spark_setting_names
from tests.random_examples import examples

SCRIPT = run_path(".ci/spark-settings")
OF_PLUG_INS = [
    "spark.databricks.delta.optimizeWrite.enabled", "spark.delta.logStore.gs.impl", "spark.rapids.sql.enabled",
    "spark.sql.iceberg.planning.preserve-data-grouping", "spark.sql.catalog.prod.warehouse", "spark.celeborn.client.x",
    "spark.openlineage.transport.type", "spark.hadoop.fs.s3a.endpoint", "spark.executorEnv.TZ", "spark.gluten.enabled",
    "spark.pstl.retry.max.attempts", "spark.kubernetes.driver.label.team", "spark.shop.rate",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_PLUG_INS)
def test_settings_of_plug_ins_are_not_reported(name: str) -> None:
    """Sections that Spark does not have, and names that users choose, are not checked."""
    assert not is_unknown(name)


def test_no_setting_of_spark_is_reported() -> None:
    """Every name of the table is known."""
    assert len(spark_setting_names()) > 1500
    assert not any(map(is_unknown, spark_setting_names()))


def test_misspelt_settings_are_found() -> None:
    """A letter that is missing, doubled or swapped is noticed, and the setting that was meant is suggested."""
    chance = random.Random(5)
    names = [
        name for name in sorted(spark_setting_names()) if len(name.split(".")) > 2 and len(name.split(".")[-1]) > 4
    ]
    names = [name for name in names if not name.startswith(OPEN_PREFIXES)]
    for name in chance.sample(names, examples(200)):
        section, _, last = name.rpartition(".")
        at = chance.randrange(1, len(last) - 1)
        without, doubled = last[:at] + last[at + 1 :], last[:at] + last[at] + last[at:]
        swapped = last[:at] + last[at + 1] + last[at] + last[at + 2 :]
        misspelt = f"{section}.{chance.choice([without, doubled, swapped])}"
        if misspelt not in spark_setting_names():
            assert is_unknown(misspelt), misspelt
            assert name in meant(misspelt), misspelt


@pytest.mark.full
def test_the_table_is_that_of_the_installed_version() -> None:
    """The script writes the file that is committed, if PySpark has the version that the file names."""
    committed = SCRIPT["FILE"].read_text(encoding="utf-8")
    if f"PySpark {version('pyspark')}," not in committed.partition("\n")[0]:
        pytest.skip("the table was made from another PySpark")
    assert SCRIPT["text"]() == committed
