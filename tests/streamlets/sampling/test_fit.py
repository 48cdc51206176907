"""`flow verify --sample`: schemas of sources compared with samples of their data."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import flow as flow
from tests.streamlets.ingress.sources.api import serving

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

BLUEPRINT = """blueprint {{
  streamlets.orders {{
    class = streamlets.Source
    outlets.out = "{schema}"
    parameters {{ {parameters} }}
  }}
  topics.orders.producers = [orders.out]
}}
"""
Findings = list[tuple[str, str, str]]
Verify = Callable[..., Findings]


@pytest.fixture
def verify(flow: Flow, tmp_path: Path) -> Verify:
    """Return a function that returns the code, the severity and the headline of each finding about samples."""

    def call(parameters: str, schema: str, files: dict[str, str]) -> Findings:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        (tmp_path / "blueprint.conf").write_text(BLUEPRINT.format(parameters=parameters, schema=schema))
        found = json.loads(flow("verify", str(tmp_path), "--sample", "--format", "json").out)["diagnostics"]
        findings = [(finding["code"], finding["severity"], finding["headline"]) for finding in found]
        return [finding for finding in findings if finding[0] != "topic-without-consumers"]

    return call


CSV = 'from = csv, options { path = "data/**/*.csv" }'
JSON = 'from = json, options { path = "data/*.json" }'


def test_what_fits(verify: Verify) -> None:
    """Columns of options and directories, nulls and defaults are not findings."""
    parameters = """from = csv, options {
      path = "data/*/*.csv", file-column = source, line-column = line, missing-columns = null
    }"""
    schema = "id long NOT NULL, price double, day date, source string, line int, later string"
    files = {"data/day=2026-01-31/a.csv": "id,price\n1,2.5\n2,\n"}
    assert verify(parameters, schema, files) == []


def test_a_file_without_a_column(verify: Verify) -> None:
    """A column that a file must have is missing; with `missing-columns = null`, only one that cannot be null is."""
    files = {"data/a.csv": "id\n1\n"}
    missing = [("sample-column-missing", "error", "`orders`: the data has no column `name`")]
    assert verify(CSV, "id long, name string", files) == missing
    null = CSV.replace("}", ", missing-columns = null }")
    assert verify(null, "id long, name string", files) == []
    assert verify(null, "id long, name string NOT NULL", files) == missing


def test_objects(verify: Verify) -> None:
    """An object may lack a field that can be null, and a value of another type does not fit."""
    files = {"data/a.json": '{"id": 1, "price": 1.5}\n{"id": 2, "price": "x"}\n'}
    assert verify(JSON, "id long, price double, more string", files) == [
        (
            "sample-value",
            "warning",
            "`orders`: 1 of 2 records of the sample do not fit the column `price`, whose type is double",
        )
    ]
    assert verify(JSON, "id string, price string, more string NOT NULL", files)[0] == (
        "sample-column-missing", "error", "`orders`: the data has no column `more`"
    )  # fmt: skip
    every = verify(JSON, "id string", files)
    assert ("sample-value", "error") in [finding[:2] for finding in every]
    assert ("sample-column-unread", "note") in [finding[:2] for finding in every]


def test_a_null_that_is_not_allowed(verify: Verify, flow: Flow, tmp_path: Path) -> None:
    """The help says how the column can be null."""
    verify(CSV, "id long, name long NOT NULL", {"data/a.csv": "id,name\n1,\n2,3\n"})
    report = flow("verify", str(tmp_path), "--sample")
    assert report.code == 0
    assert "let the column be null" in report.out


def test_files_that_are_not_of_the_format(verify: Verify) -> None:
    """A file that cannot be read is a finding, and so is a path without files."""
    (finding,) = verify('from = parquet, options { path = "data/*.parquet" }', "id long", {"data/a.parquet": "x"})
    assert finding[0] == "sample-unreadable"
    assert "data/a.parquet" in finding[2]
    (finding,) = verify(CSV.replace("**/", "none/"), "id long", {"data/none/a.txt": "x"})
    assert finding[:2] == ("sample-unreadable", "warning")
    assert finding[2] == "`orders`: cannot be sampled: there is no file with content at `data/none/*.csv`"


def test_a_server(verify: Verify) -> None:
    """The columns of the first page are compared, and the values of a few pages."""
    with serving() as api:
        api.records = [{"id": number, "at": "x"} for number in range(9)]
        parameters = f'from = http, options {{ url = "{api.url}/link", paging = link }}'
        found = verify(parameters, "id long, at timestamp", {})
        assert [finding[:2] for finding in found] == [("sample-value", "error")]
        assert len(api.requests) == 1 + 3  # one for the columns
        api.requests.clear()
        assert verify(parameters.replace("/link", "/link?x=1"), "id long, at string", {}) == []
    (finding,) = verify(parameters.replace("options {", "options { attempts = 1,"), "id long", {})
    assert finding[:2] == ("sample-unreadable", "warning")


def test_a_table(verify: Verify, tmp_path: Path) -> None:
    """The columns and the values of a table are compared."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO t VALUES (1, 'a')")
    parameters = 'from = jdbc, options { url = "sqlite:shop.db", table = t, column = id }'
    assert verify(parameters, "id long, name string", {}) == []
    assert [finding[:2] for finding in verify(parameters, "id long, nme string", {})] == [
        ("sample-column-missing", "error")
    ]
    assert [finding[:2] for finding in verify(parameters, "id long, name double", {})] == [("sample-value", "error")]


def test_other_findings_do_not_hide_samples(verify: Verify) -> None:
    """A source with a mistake in its options is not sampled: its finding explains it."""
    found = verify(CSV.replace("path", "pth"), "id long", {"data/a.csv": "id\nx\n"})
    assert {code for code, _, _ in found} == {"parameter-value"}
