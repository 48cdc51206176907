"""A sink of another package, `tests/toy_sink`, which is found by its entry point.

`tests/streamlets/channels/test_own_channel.py` has it in a run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamlets import Sink
from streamlets.egress import SINKS
from streamlets.testkit import Testkit, TestkitError
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.streamlets.egress.applications import numbers_application

TOY = Path(__file__).resolve().parents[2] / "toy_sink"
OPTIONS = "path = out, prefix = part"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the package on the path, as an installation does, in this process and in those that it starts."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    yield
    sys.modules.pop("toy_sink", None)


@pytest.mark.usefixtures("installed")
def test_the_sink_is_found_by_its_entry_point() -> None:
    """The registry has it next to the built-in sinks."""
    assert "lines" in SINKS
    assert SINKS["lines"].traits.guarantee == "exactly-once"
    assert {"lines", "parquet", "terminal"} <= {*SINKS}


@pytest.mark.usefixtures("installed")
def test_verify_and_describe_know_the_sink(flow: Flow, tmp_path: Path) -> None:  # noqa: F811 - a fixture
    """Its options are checked and described as those of built-in sinks."""
    directory = numbers_application(tmp_path, "lines", OPTIONS)
    result = flow("verify", str(directory))
    assert result.code == 0, result.out
    described = json.loads(flow("describe", str(directory)).out)
    assert described["streamlets"]["archive"]["parameters"]["to"] == "lines"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("to", "options", "problem"),
    [
        ("lines", "path = out, prefx = part", "the sink `lines` has no option `prefx`"),
        ("lines", "prefix = part", "the sink `lines` requires the option `path`: the directory"),
        ("linse", "path = out", "did you mean `lines`?"),
    ],
)
def test_verify_reports_mistakes(flow: Flow, tmp_path: Path, to: str, options: str, problem: str) -> None:  # noqa: F811
    """Unknown names and options are findings with suggestions."""
    result = flow("verify", str(numbers_application(tmp_path, to, options)))
    assert result.code == 1
    assert problem in " ".join(result.out.split())


def test_verify_reports_a_sink_that_cannot_be_imported(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """A package that is broken is one finding at the name of the sink."""
    metadata = tmp_path / "site" / "broken-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[streamlets.sinks]\nbroken = broken_sink:Sink\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "app").mkdir()
    result = flow("verify", str(numbers_application(tmp_path / "app", "broken", "")))
    assert result.code == 1
    assert "the sink `broken` is registered as `broken_sink:Sink`, which fails: ModuleNotFoundError" in " ".join(
        result.out.split()
    )
    assert result.out.count("error[") == 1


@pytest.mark.usefixtures("installed")
def test_verify_does_not_import_pyspark(tmp_path: Path) -> None:
    """Looking up a sink of another package imports neither Spark nor the other sinks."""
    program = (
        "import sys; from cli.main import main\n"
        "try:\n    main(['verify', sys.argv[1]])\n"
        "except SystemExit as ended:\n    assert ended.code == 0\n"
        "assert 'toy_sink' in sys.modules\n"
        "assert not {'pyspark', 'pyarrow', 'streamlets.egress.files.type'} & {*sys.modules}\n"
    )
    root = str(TOY.parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOY), root))}
    command = [sys.executable, "-c", program, str(numbers_application(tmp_path, "lines", OPTIONS))]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.spark
@pytest.mark.usefixtures("installed")
def test_the_testkit_runs_the_sink_in_its_own_directory(spark: SparkSession, tmp_path: Path) -> None:
    """A test reads what the sink wrote in the kit; the real directory is not created."""
    kit = Testkit(spark, tmp_path / "kit")
    real = tmp_path / "real"
    parameters = {"to": "lines", "options": {"path": str(real)}}
    archive = kit.streamlet(Sink, ref="archive", parameters=parameters, schemas={"in": "id long"})
    archive.inlet("in").put([{"id": 1}, {"id": 2}])
    archive.step()
    assert sorted(row["id"] for row in archive.sink().take()) == [1, 2]
    archive.inlet("in").put([{"id": 3}])
    archive.step()
    assert archive.sink().take() == [{"id": 3}]
    assert len(archive.sink().all()) == 3
    assert [path.name[:5] for path in archive.sink().path.iterdir()] == ["batch"] * 2
    assert not real.exists()


NATIVE = """
from streamlets.egress import SinkOption, SinkTraits, SinkType, SinkWriter

class NativeSink(SinkType):
    traits = SinkTraits(
        name="native", description="Spark's sink of files.", guarantee="exactly-once",
        options=(SinkOption(name="directory", description="the directory", required=True),),
    )

    def open(self, rows, query):
        return SinkWriter(rows.writeStream.format("json").option("path", query.options["directory"]))
"""


@pytest.mark.spark
def test_a_sink_may_be_a_format_of_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a sink keeps its own log, and has no record of batches. In tests, Parquet files take its place."""
    metadata = tmp_path / "native_sink-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: native-sink\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[streamlets.sinks]\nnative = native_sink:NativeSink\n")
    (tmp_path / "native_sink.py").write_text(NATIVE)
    monkeypatch.syspath_prepend(str(tmp_path))
    real = tmp_path / "real"
    parameters = {"to": "native", "options": {"directory": str(real)}}
    for permitted in (False, True):
        kit = Testkit(spark, tmp_path / f"kit-{permitted}")
        sink = kit.streamlet(Sink, ref="a", parameters=parameters, schemas={"in": "id long"}, real=permitted)
        sink.inlet("in").put([{"id": 1}, {"id": 2}])
        sink.step()
        assert real.exists() == permitted
        if not permitted:
            assert sorted(row["id"] for row in sink.sink().take()) == [1, 2]
    assert sorted(row["id"] for row in spark.read.json(str(real)).collect()) == [1, 2]
    with pytest.raises(TestkitError, match="cannot be read, because the sink `native` does not write files that"):
        sink.sink()
