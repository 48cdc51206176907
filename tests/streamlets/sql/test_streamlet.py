"""`streamlets.Sql`: jobs run in the testkit, and `--plans` reports the mistakes that only Spark finds in their text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from blueprint.diagnostics import Diagnostic, Severity
from blueprint.verification.verify import verify
from streamlets.api.errors import StreamletError
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog
from streamlets.testkit import Testkit

JOB = """\
-- Readings above a limit, and the number of readings by station.
CREATE STREAM readings (station string, celsius double, `the day` date)
FROM json OPTIONS ('path' = 'in', 'maxFilesPerTrigger' = 1);
CREATE TEMPORARY FUNCTION fahrenheit(x DOUBLE) RETURNS DOUBLE RETURN x * 9 / 5 + 32;
CREATE TEMPORARY VIEW hot AS
SELECT station, fahrenheit(celsius) AS degrees, `the day`, '${label};' AS label FROM readings WHERE celsius > ${limit};
CREATE TEMPORARY VIEW counts AS SELECT station, count(*) AS n FROM readings GROUP BY station;
SAVE STREAM hot (station, degrees, label) TO json PARTITIONED ON (Station)
OPTIONS ('path' = 'out/hot', 'pstl.retry.max.attempts' = 3);
SAVE STREAM counts TO console IDENTIFIED BY `counts.by-station` OUTPUT MODE UPDATE TRIGGER ONCE;
"""
ARGUMENTS = ["label = it's", "limit = 20"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with a job and its input."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sql").write_text(JOB, encoding="utf-8")
    (tmp_path / "in").mkdir()
    add(tmp_path, "first", ("bergen", 21.0), ("bergen", 4.0))
    add(tmp_path, "second", ("oslo", 30.0), ("bergen", 5.0))
    return tmp_path


def add(project: Path, name: str, *readings: tuple[str, float]) -> None:
    """Write readings to a file of the job's input."""
    rows = [json.dumps({"station": s, "celsius": c, "the day": "2024-05-01"}) for s, c in readings]
    (project / "in" / f"{name}.json").write_text("\n".join(rows), encoding="utf-8")


def check(spark: SparkSession, project: Path, scratch: Path, *arguments: str) -> tuple[Diagnostic, ...]:
    """Return the findings of `flow verify --plans` about the job."""
    return verify(
        project / "job.sql", catalog=ProjectCatalog(), arguments=arguments or ARGUMENTS, environment={},
        working_directory=project, logic=LogicChecker(spark, scratch),
    ).diagnostics  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize(
    ("right", "wrong", "line"), [("'in'", "'nowhere'", 2), ("FROM readings GROUP", "FROM nothing GROUP", 7)]
)
def test_an_error_in_a_test_has_the_line_of_the_job(
    kit: Testkit, project: Path, right: str, wrong: str, line: int
) -> None:
    """Although the queries write elsewhere in a test, each statement is at its place in the file."""
    job = JOB.replace(right, wrong)
    queries = job[job.index("SAVE STREAM hot") : job.index("SAVE STREAM counts")]
    job = job.replace(queries, "").replace("CREATE STREAM", f"{queries}CREATE STREAM")  # two lines before the others
    (project / "job.sql").write_text(job, encoding="utf-8")
    with pytest.raises(StreamletError, match=rf"at job\.sql, line {line + 2}"):
        kit.application(project / "job.sql", arguments=ARGUMENTS).step()


BLUEPRINT = """\
blueprint {
  streamlets { feed { class = streamlets.Sql, outlets.out = "n bigint", parameters.statements = %s } }
  topics.fed.producers = [feed.out]
}
"""
STREAM = "CREATE STREAM numbers (n BIGINT) FROM json OPTIONS ('path' = 'in');"
VIEW = "CREATE TEMPORARY VIEW v AS SELECT n, 'é' AS e FROM missing; SAVE STREAM v TO out;"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("statements", "place"),
    [
        (f'"""{STREAM}\n  {VIEW}"""', "missing"), (f'"""{STREAM} {VIEW}"""', "missing"),
        (f'"{STREAM} {VIEW}"', "missing"), (f'"{STREAM}\\n{VIEW}"', '"CREATE'),
    ],
    ids=["lines", "a line", "a string", "a string with escapes"],
)  # fmt: skip
def test_an_error_of_a_run_has_its_place_in_the_blueprint(
    kit: Testkit, project: Path, statements: str, place: str
) -> None:
    """Or the place of the whole text, if its columns are not those of the file."""
    text = BLUEPRINT % statements
    (project / "blueprint.conf").write_text(text, encoding="utf-8")
    before = text[: text.index(place)]
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    where = rf"\n  at blueprint\.conf, line {line}, column {column}$"
    with pytest.raises(StreamletError, match=rf"`missing`[^\n]*{where}"):
        kit.application(project / "blueprint.conf").step()


@pytest.mark.spark
def test_a_job_saves_its_streams_and_continues_after_a_restart(kit: Testkit, project: Path) -> None:
    """Streams, functions, views, variables and columns work; a restart defines them again, and reads only new files."""
    app = kit.application(project / "job.sql", arguments=ARGUMENTS)
    app.step()
    rows = sorted(app.sink("job", "hot").take(), key=lambda row: str(row["station"]))
    assert rows == [
        {"degrees": 69.8, "label": "it's;", "station": "bergen"},
        {"degrees": 86.0, "label": "it's;", "station": "oslo"},
    ]
    counts = {row["station"]: row["n"] for row in app.sink("job", "counts.by-station").take()}
    assert counts == {"bergen": 3, "oslo": 1}
    app.restart()
    add(project, "third", ("oslo", 40.0))
    app.step()
    assert [row["degrees"] for row in app.sink("job", "hot").take()] == [104.0]
    assert not (project / "out").exists(), "tests write to the directory of the kit only"


@pytest.mark.spark
def test_spark_accepts_a_job_without_mistakes(spark: SparkSession, project: Path, tmp_path: Path) -> None:
    """Only the state of its aggregation is reported, at the statement; nothing is written while it is checked."""
    (found,) = check(spark, project, tmp_path / "scratch")
    assert (found.code, found.severity, found.primary and found.primary.span.file) == (
        "unbounded-state", Severity.WARNING, "job.sql",
    )  # fmt: skip
    assert not (project / "out").exists()


NESTED = """\
CREATE STREAM readings (station string, celsius double, place struct<town: string, height: int>)
FROM json OPTIONS ('path' = 'in');
CREATE TEMPORARY VIEW everything AS SELECT * FROM readings;
CREATE TEMPORARY VIEW towns AS SELECT station, place.town AS town FROM everything; -- é
CREATE TEMPORARY VIEW warm AS
SELECT station FROM (SELECT station, celsius AS degrees FROM everything WHERE celsius > 0) AS inner_rows
WHERE degrees > 20;
CREATE TEMPORARY VIEW every AS
SELECT station, '${label}' AS label FROM warm UNION ALL SELECT town, '' FROM towns
UNION ALL (WITH cold AS (SELECT station FROM readings WHERE celsius < 0) SELECT station, 'é' FROM cold);
SAVE STREAM every (station, label) TO json OPTIONS ('path' = 'out');
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("before", "wrong", "suggestion"),
    [
        ("place.", "town", "town"),  # a view over a view over the stream
        ("SELECT station, ", "celsius", "celsius"),  # the select list of a subquery
        ("everything WHERE ", "celsius", "celsius"),  # its condition
        ("WHERE ", "degrees", "degrees"),  # an alias of a subquery
        ("UNION ALL SELECT ", "town", "town"),  # a branch of a union, after a variable
        ("readings WHERE ", "celsius", "celsius"),  # a common table expression in a branch
        ("0) SELECT ", "station", "station"),  # after the common table expression
    ],
)
def test_a_misspelt_column_is_marked_wherever_it_is(
    spark: SparkSession, project: Path, tmp_path: Path, before: str, wrong: str, suggestion: str
) -> None:
    """In views over views, subqueries, unions and common table expressions, line and column are those of the job."""
    misspelt = wrong[:-2] + wrong[-1] + wrong[-2]
    text = f"{before}{misspelt}"
    job = NESTED.replace(f"{before}{wrong}", text, 1)
    (project / "job.sql").write_text(job, encoding="utf-8")
    (found,) = check(spark, project, tmp_path / "scratch", "label = x")
    assert found.primary is not None
    span = found.primary.span
    line = job[: job.index(text) + len(before)].count("\n")
    assert (found.code, span.file, span.line) == ("unknown-column", "job.sql", line + 1), found
    marked = job.split("\n")[line][span.column - 1 : span.end_column - 1]
    assert marked.rpartition(".")[2] == misspelt
    assert found.help == (f"did you mean `{suggestion}`?",)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "replacement", "code", "place", "help"),
    [
        ("fahrenheit(celsius)", "fahrenheit(celcius)", "unknown-column", (6, 28), "did you mean `celsius`?"),
        ("AND '${label}' = 'é' AND celcius > 0", "", "unknown-column", (6, 0), "did you mean `celsius`?"),
        ("SELECT station, count", "SELECT station count", "plan-refused", (7, 0), ""),
        ("FROM readings GROUP", "FROM reading GROUP", "sql-unknown-name", (7, 68), "did you mean `readings`?"),
        ("OUTPUT MODE UPDATE", "OUTPUT MODE APPEND", "output-mode", (10, 1), ""),
        ("(station, degrees, label)", "(station, degree)", "unknown-column", (8, 1), "did you mean `degrees`?"),
        ("SELECT station, count(*) AS n FROM readings GROUP BY station", "SELECT 1 AS station", "not-a-stream",
         (10, 1), ""),
    ],
)  # fmt: skip
def test_mistakes_that_spark_finds_have_their_place_in_the_job(
    spark: SparkSession, project: Path, tmp_path: Path, text: str, replacement: str, code: str,
    place: tuple[int, int], help: str,
) -> None:  # fmt: skip
    """A misspelt column, view or keyword is reported once, at its line and column of the job."""
    job = JOB.replace(text, replacement) if replacement else JOB.replace("> ${limit}", "> ${limit} " + text)
    assert job != JOB
    (project / "job.sql").write_text(job, encoding="utf-8")
    (found,) = check(spark, project, tmp_path / "scratch")
    assert found.primary is not None
    span = found.primary.span
    line = job.split("\n")[span.line - 1]
    assert (found.code, span.file, span.line) == (code, "job.sql", place[0]), found
    assert span.column == (place[1] or span.column)
    if "celcius" in job:
        assert line[span.column - 1 : span.end_column - 1] == "celcius"
    assert help in found.help or not help
