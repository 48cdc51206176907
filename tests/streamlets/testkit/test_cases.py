"""Test cases as data: read, run, compared and recorded."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from streamlets.api.source_location import author_location
from streamlets.testkit import Testkit, TestkitError
from streamlets.testkit.cases import Case, _difference, read_cases

APP = """\
from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic

FIELDS = "name string not null, at timestamp not null, price decimal(6,2) not null"


class Doubled(SparkStreamlet):
    records = AvroInlet("in", schema=FIELDS)
    doubled = AvroOutlet("out", schema=FIELDS)
    factor = IntegerParameter("Factor", default=2)

    class Logic(SparkStreamletLogic["Doubled"]):
        def build_streaming_queries(self):
            me = self.streamlet
            price = (F.col("price") * self.value(me.factor)).cast("decimal(6,2)")
            return self.write_stream(self.read_stream(me.records).withColumn("price", price), me.doubled)
"""
CASES = """\
# How prices are doubled.
streamlet: cases_app.Doubled
cases:
  - name: a price is doubled   # by default
    put:
      in: records.jsonl
    take:
      out:
        - {name: b, at: 2024-01-01 00:00:00+00:00, price: '3.00'}
        - {name: a, at: 2024-01-01T00:00:00Z, price: 2}
        # the order does not matter
  - name: the factor is a parameter
    parameters: {factor: 3}
    put: {in: [{name: c, at: '2024-01-01T00:00:00Z', price: 1}]}
    take: {out: []}   # wrong
  - name: a list in a block
    put: {in: records.jsonl}
    take:
      out:
        - {name: b, at: 2024-01-01T00:00:00Z, price: 0}
      # not the last
  - name: in a file
    put: {in: records.jsonl}
    take:
      out: expected.jsonl
"""
RECORDS = """\
{"name": "a", "at": "2024-01-01T00:00:00Z", "price": "1.00"}

{"name": "b", "at": "2024-01-01T00:00:00Z", "price": "1.50"}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write an application and its cases."""
    (tmp_path / "cases_app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "records.jsonl").write_text(RECORDS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    cases = tmp_path / "test_doubled.streamlet.yaml"
    cases.write_text(CASES, encoding="utf-8")
    return cases


def test_a_case_is_located_in_its_file(file: Path) -> None:
    """Relative paths in its parameters start there, and the directory of the plugin is not the project's."""

    class Kit:
        def streamlet(self, *_: object, **__: object) -> None:
            place = author_location()
            raise TestkitError(place.file if place is not None else "")

    with pytest.raises(TestkitError, match=str(file)):
        read_cases(file)[0].run(Kit())  # type: ignore[arg-type]


@pytest.mark.spark
def test_cases_are_compared_and_recorded(file: Path, spark: Any, tmp_path: Path) -> None:
    """What differs is shown; recording changes only expectations that differ, and keeps comments."""

    def run(case: Case, *, update: bool = False) -> str:
        with Testkit(spark) as kit:
            return case.run(kit, update=update)

    right, wrong, block, in_file = read_cases(file)
    assert run(right) == ""
    shown = run(wrong)
    assert "the outlet `out` has other records than expected" in shown
    assert shown.splitlines()[1:] == [
        "  written, and not expected:",
        "    {name: c, at: '2024-01-01T00:00:00+00:00', price: '3.00'}",
    ]
    with pytest.raises(TestkitError, match=r"`expected\.jsonl` cannot be read"):
        run(in_file)
    assert [run(case, update=True) for case in (right, wrong, block, in_file)] == [""] * 4
    recorded = CASES.replace("{out: []}", "{out: [{name: c, at: '2024-01-01T00:00:00+00:00', price: '3.00'}]}")
    recorded = recorded.replace(
        "        - {name: b, at: 2024-01-01T00:00:00Z, price: 0}\n",
        "        - {name: a, at: '2024-01-01T00:00:00+00:00', price: '2.00'}\n"
        "        - {name: b, at: '2024-01-01T00:00:00+00:00', price: '3.00'}\n",
    )
    assert file.read_text(encoding="utf-8") == recorded
    assert len((tmp_path / "expected.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert [run(case) for case in read_cases(file)] == [""] * 4


def test_only_records_that_differ_are_shown() -> None:
    """In the form in which they are written in the file; a record that is there twice counts twice."""
    a, b, c = ({"n": n, "price": Decimal(price)} for n, price in ((1, "1.50"), (2, "2.00"), (3, "0.10")))
    assert _difference("out", [a, b, b], [c, b]).splitlines()[1:] == [
        "  expected, and not written:",
        "    {n: 1, price: '1.50'}",
        "    {n: 2, price: '2.00'}",
        "  written, and not expected:",
        "    {n: 3, price: '0.10'}",
        "  as expected: 1 other",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "invalid YAML"),
        ("[]", "expected a mapping, found []"),
        ("cases: []", "expected the class path `streamlet` and the list `cases`"),
        ("streamlet: a.B\ncase: []", "unknown key `case`; did you mean `cases`?"),
        ("streamlet: a.B\ncases:\n  - {nam: x}", "case 1: unknown key `nam`; did you mean `name`?"),
        ("streamlet: a.B\ncases:\n  - {put: 3}", "case 1, `put`: expected a mapping, found 3"),
    ],
)
def test_invalid_files_are_explained(tmp_path: Path, text: str, message: str) -> None:
    """The file, the place and what was expected."""
    file = tmp_path / "test_a.streamlet.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TestkitError) as raised:
        read_cases(file)
    assert message in str(raised.value)
    assert str(file) in str(raised.value)


def pytest_in(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on a directory."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(directory)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_an_invalid_file_is_an_error_of_its_collection(tmp_path: Path) -> None:
    """pytest reports it without a traceback."""
    (tmp_path / "test_a.streamlet.yaml").write_text("streamlet: a.B\ncase: []\n", encoding="utf-8")
    done = pytest_in(tmp_path)
    assert done.returncode == 2
    assert "unknown key `case`; did you mean `cases`?" in done.stdout
    assert "Traceback" not in done.stdout


def test_several_processes_do_not_record(tmp_path: Path) -> None:
    """They would write the same file."""
    done = pytest_in(tmp_path, "-n2", "--flow-update")
    assert (done.returncode, "--flow-update needs a single process: pass -n0" in done.stderr) == (4, True)
