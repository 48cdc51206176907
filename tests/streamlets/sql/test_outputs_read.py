"""Verification and Spark agree on which streams of files read an output of their job."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog

PATHS = {
    "out": True,
    "out/*": True,
    "{out,other}/*.json": True,
    "[!x]ut": True,
    "o[t-v]?": True,
    "{o,x}u{t,x}": True,
    "./out/../out": True,
    "ou[a-c]": False,
    "out/raw-*": False,
    "out/part": False,
    "*/*/*": False,
    ".": False,
    "[^x]ut": True,
}
"""Paths of a stream, and whether it reads a file in the directory `out`."""


@pytest.mark.spark
@pytest.mark.parametrize("recursive", [False, True])
def test_spark_reads_what_verification_reports(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recursive: bool
) -> None:
    """Spark lists the files of a stream as those of a batch."""
    monkeypatch.chdir(tmp_path)
    for name in ("out/part-0.json", "other/part-0.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text('{"a": 1}\n')
    option = f", 'recursiveFileLookup' = {str(recursive).lower()}"
    for path, read in PATHS.items():
        reader = spark.read.schema("a int").option("recursiveFileLookup", recursive)
        try:
            files = reader.json(f"file:{tmp_path}/{path}").inputFiles()
        except AnalysisException:  # nothing matches the path
            files = []
        by_spark = any(file.endswith("/out/part-0.json") for file in files)
        (tmp_path / "job.sql").write_text(
            f"CREATE STREAM s (a int) FROM json OPTIONS ('path' = '{path}'{option});\n"
            "SAVE STREAM s TO json OPTIONS ('path' = 'out');\n"
        )
        verification = verify("job.sql", catalog=ProjectCatalog(), environment={}, working_directory=tmp_path)
        reported = [diagnostic.code for diagnostic in verification.diagnostics] == ["output-read"]
        assert (path, by_spark, reported) == (path, read or (recursive and path == "."), by_spark)
