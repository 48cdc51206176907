"""What `flow verify` reports about the parameters of `streamlets.Sink`, beyond the options of a sink."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.catalog import ParameterProblem, WrittenDirectory
from blueprint.hocon.source import Source
from blueprint.settings.options import typed_options
from streamlets import Configuration, Sink, StreamletError
from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.sink import open_sink
from streamlets.sql import Sql
from streamlets.sql.streamlet import read_job


def problems(to: str, partition_by: str = "", **options: Any) -> list[ParameterProblem]:
    """Return the problems of parameters."""
    return list(Sink().check_parameters({"to": to, "partition-by": partition_by, "options": options}))


def written(to: str, **options: Any) -> tuple[WrittenDirectory, ...]:
    """Return the directories that a sink writes."""
    values = {"to": to, "partition-by": "", "options": options}
    return Sink().external_resources(Configuration(values, {}, Path())).directories


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The help has the command that installs it. Other packages are not needed."""
    assert problems("delta", path="out") == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (problem,) = problems("delta", path="out")
    assert problem.path == ("to",)
    assert problem.message == "the sink `delta` requires the package `deltalake`, which is not installed"
    assert problem.help == ("run `pip install 'streamlets[delta]'`",)
    (problem,) = problems("jdbc", url="duckdb:file", table="t")
    assert problem.path == ("options", "url") and "requires the package `duckdb`" in problem.message
    assert problems("parquet", path="out") == []


def test_the_options_of_a_sink_are_checked_together() -> None:
    """The sink itself checks its options only when each of them is valid."""
    (problem,) = problems("jdbc", url="oracle:x", table="t")
    assert problem.message == "the URL has the scheme `oracle`; use `sqlite`, `duckdb` or `postgresql`"
    (problem,) = problems("jdbc", url="oracle:x")
    assert "requires the option `table`" in problem.message


def test_a_sink_that_does_not_append_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query of `streamlets.Sink` has the output mode `append`."""
    sink = SINKS["terminal"]
    monkeypatch.setattr(type(sink), "traits", replace(sink.traits, output_modes=("complete",)))
    (problem,) = problems("terminal")
    assert problem.message == "the sink `terminal` does not accept output mode `append`"


@pytest.mark.parametrize(
    ("options", "problem", "column"),
    [
        ("jdbc OPTIONS ('url' = 'oracle:x', 'table' = 't')", "the URL has the scheme `oracle`", 40),
        ("webhook OPTIONS ('url' = 'http://h', 'headers.Host' = 'x')", "the sink sets the header `Host`", 55),
        (
            "kafka OPTIONS ('kafka.bootstrap.servers' = 's', 'value' = 'column', 'key' = 'k')",
            "`key` is an option of",
            86,
        ),
    ],
)
def test_sinks_check_the_options_of_jobs(options: str, problem: str, column: int) -> None:
    """The finding is at the option of the statement."""
    text = f"CREATE STREAM s FROM rate;\nSAVE STREAM s TO {options}"
    _, (reported,) = read_job(Source("job.sql", text), {}, Sql().shape)
    assert problem in reported.headline and reported.primary is not None
    assert (reported.primary.span.line, reported.primary.span.column) == (2, column)


@pytest.mark.parametrize("to", ["parquet", "delta"])
def test_written_directories_are_those_of_paths(to: str) -> None:
    """A sink without a directory of its own has none."""
    assert written(to, path="out") == (WrittenDirectory(("options", "path"), "out"),)
    assert written("jdbc", url="sqlite:x") == ()


@pytest.mark.parametrize(
    ("to", "options", "mode", "problem"),
    [
        ("delta", {"path": "out"}, "update", "requires the option `keys` in output mode `update`"),
        ("jdbc", {"url": "oracle:x", "table": "t"}, "append", "the URL has the scheme `oracle`"),
    ],
)
def test_a_query_is_checked_before_it_is_built(to: str, options: dict[str, object], mode: Any, problem: str) -> None:
    """A query in an output mode that the sink cannot write is not built, also without the streamlet `Sink`."""
    rows: Any = None  # the columns are not read
    sink = SINKS[to]
    query = SinkQuery(name="s", streamlet="s", query="q", options=typed_options(sink.traits, options), output_mode=mode)
    with pytest.raises(StreamletError, match=problem):
        open_sink(sink, rows, query)
