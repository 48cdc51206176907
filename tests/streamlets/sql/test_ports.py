"""`streamlets.Sql` in a blueprint: its inlets are tables, and streams are saved to its outlets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from blueprint.diagnostics import Diagnostic
from blueprint.plan import ApplicationPlan
from blueprint.verification.verify import verify
from streamlets import AvroInlet, AvroOutlet, Sql, StringParameter
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog
from streamlets.testkit import Testkit, TestkitError

BLUEPRINT = '''\
blueprint {
  streamlets {
    sensors {
      class = streamlets.Sql
      outlets.readings = "station string, celsius double"
      parameters.statements = """
        CREATE STREAM files (station string, celsius double) FROM json OPTIONS ('path' = 'in');
        SAVE STREAM files TO readings;
      """
    }
    heat {
      class = streamlets.Sql
      outlets.hot-days {
        schema = """{"type": "record", "name": "Hot", "fields": [
          {"name": "station", "type": "string"},
          {"name": "degrees", "type": "double"}
        ]}"""
        on-invalid = dead-letters
        extra = drop
        partition-by = [station]
      }
      parameters.statements = """
        CREATE TEMPORARY VIEW hot AS -- é
          SELECT station, celsius AS degrees, 'é' AS note FROM readings WHERE celsius > ${limit};
        SAVE STREAM hot TO hot_days IDENTIFIED BY heat OPTIONS ('pstl.retry.max.attempts' = 2);
        SAVE STREAM readings (station) TO console;
      """
      parameters.variables.limit = 30
    }
    archive { class = streamlets.Sink, parameters { to = json, options.path = out } }
  }
  topics {
    readings { producers = [sensors.readings], consumers = [heat.readings] }
    hot      { producers = [heat.hot-days], consumers = [archive.in] }
  }
}
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the blueprint and its input."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT, encoding="utf-8")
    (tmp_path / "in").mkdir()
    rows = ['{"station": "oslo", "celsius": 31}', '{"celsius": 40}', '{"station": "oslo", "celsius": 1}']
    (tmp_path / "in" / "a.json").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path


def verified(
    project: Path, checker: LogicChecker | None = None
) -> tuple[ApplicationPlan | None, tuple[Diagnostic, ...]]:
    """Return the plan of the blueprint, and the findings about it."""
    verification = verify(
        project / "blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=project, logic=checker
    )
    return verification.plan, verification.diagnostics


def test_the_ports_are_those_that_the_blueprint_names(project: Path) -> None:
    """An inlet has the schema of its topic, and an outlet the settings of the blueprint, which may change."""
    plan, findings = verified(project)
    assert plan is not None, findings
    assert findings == ()
    (heat,) = (streamlet for streamlet in plan.streamlets if streamlet.ref == "heat")
    (inlet,), (outlet,) = heat.inlets, heat.outlets
    assert (inlet.name, inlet.topic, inlet.attribute) == ("readings", "readings", None)
    assert [field.name for field in inlet.contract.record.fields] == ["station", "celsius"]
    assert (outlet.on_invalid, outlet.extra, outlet.partition_by) == ("dead-letters", "drop", ("station",))
    assert heat.dead_letters == "dead-letters.heat"


def test_directories_in_statements_stay_text(project: Path) -> None:
    """The plan has the statements as they are written."""
    to_file = BLUEPRINT.replace("TO console", "TO json OPTIONS ('path' = 'copy')")
    (project / "blueprint.conf").write_text(to_file, encoding="utf-8")
    plan, findings = verified(project)
    assert plan is not None, findings
    (heat,) = (streamlet for streamlet in plan.streamlets if streamlet.ref == "heat")
    assert "TO json OPTIONS ('path' = 'copy')" in str(heat.parameters["statements"])


@pytest.mark.spark
def test_records_pass_from_table_to_table(kit: Testkit, project: Path) -> None:
    """Rows that break the contract of an outlet go to the dead letters; a restart continues."""
    app = kit.application(project / "blueprint.conf")
    app.step()
    assert app.sink("archive").take() == [{"station": "oslo", "degrees": 31.0}]
    (letter,) = app.streamlet("heat").dead_letters.take()
    assert "station" in str(letter["reason"])
    assert [row["station"] for row in app.sink("heat", "readings").take()].count("oslo") == 2
    app.restart()
    app.topic("readings").put([{"station": "bergen", "celsius": 35.5}])
    app.step()
    assert app.sink("archive").take() == [{"station": "bergen", "degrees": 35.5}]


class Heat(Sql):
    """A subclass declares its ports in Python."""

    readings = AvroInlet(schema="station string, celsius double")
    hot = AvroOutlet(schema="station string")
    statements = StringParameter("Hot stations.", default="""
        CREATE TEMPORARY VIEW hot_stations AS SELECT station FROM readings WHERE celsius > 30;
        SAVE STREAM hot_stations TO hot;
    """)  # fmt: skip


@pytest.mark.spark
def test_statements_are_tested_alone(kit: Testkit) -> None:
    """The test names the ports, as a blueprint does; the parameters are those of the blueprint."""
    heat = kit.streamlet(
        Sql,
        inlets={"readings": "station string, celsius double"},
        outlets={"hot-days": "station string"},
        parameters={
            "statements": """
                CREATE TEMPORARY VIEW hot AS SELECT station FROM readings WHERE celsius > ${limit};
                SAVE STREAM hot TO hot_days;
                SAVE STREAM readings TO console;
            """,
            "variables": {"limit": 30},
        },
    )
    heat.inlet("readings").put([{"station": "oslo", "celsius": 31.0}, {"station": "bergen", "celsius": 1.0}])
    heat.step()
    assert heat.outlet("hot-days").take() == [{"station": "oslo"}]
    assert [row["station"] for row in heat.sink("readings").take()] == ["oslo", "bergen"]
    heat.restart()
    heat.inlet("readings").put([{"station": "voss", "celsius": 30.5}])
    heat.step()
    assert heat.outlet("hot-days").take() == [{"station": "voss"}]


@pytest.mark.spark
def test_the_test_of_the_page_passes(kit: Testkit) -> None:
    """The documentation shows a test of a SQL streamlet."""
    page = (Path(__file__).parents[3] / "docs" / "save-stream.md").read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "kit.streamlet(" in block)
    names: dict[str, Any] = {}
    exec(compile(example, "save-stream.md", "exec"), names)
    names["test_hot_days"](kit)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"schemas": {"readings": "a int"}}, "there is no port `readings`; name it in `inlets` or `outlets`"),
        ({"inlets": {"readings": "a itn"}}, "unknown type `itn`"),
        ({"inlets": {"in": "a int"}, "outlets": {"in": "a int"}}, "`in` is both an inlet and an outlet"),
    ],
)
def test_wrong_ports_of_a_test_are_reported(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    """A port of a class that takes them from the blueprint must be named as inlet or outlet."""
    with pytest.raises(TestkitError, match=message):
        Testkit(directory=tmp_path).streamlet(Sql, parameters={"statements": ""}, **arguments)


@pytest.mark.spark
def test_a_subclass_has_ports_of_its_own(kit: Testkit) -> None:
    """Such a class is tested alone, as every streamlet is."""
    heat = kit.streamlet(Heat)
    heat.inlet("readings").put([{"station": "oslo", "celsius": 31.0}, {"station": "bergen", "celsius": 1.0}])
    heat.step()
    assert heat.outlet("hot").take() == [{"station": "oslo"}]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "replacement", "code", "marked", "help"),
    [
        ("celsius >", "celcius >", "unknown-column", "celcius", "did you mean `celsius`?"),
        ("FROM readings", "FROM reading", "sql-unknown-name", "reading", "did you mean `readings`?"),
        ("celsius AS degrees", "celsius AS temperature", "outlet-schema",
         "SAVE STREAM hot TO hot_days IDENTIFIED BY heat OPTIONS ('pstl.retry.max.attempts' = 2)", ""),
        ("SAVE STREAM hot TO hot_days", "SAVE STREAM hot TO console", "outlet-unwritten", "hot-days",
         "save a stream to it with `SAVE STREAM ... TO hot_days`, or remove it"),
    ],
)  # fmt: skip
def test_mistakes_that_spark_finds_have_their_place_in_the_blueprint(
    spark: SparkSession, project: Path, tmp_path: Path, text: str, replacement: str, code: str, marked: str, help: str
) -> None:
    """Line and column are those of the blueprint, also after characters of several bytes."""
    blueprint = BLUEPRINT.replace(text, replacement)
    assert blueprint != BLUEPRINT
    (project / "blueprint.conf").write_text(blueprint, encoding="utf-8")
    _, findings = verified(project, LogicChecker(spark, tmp_path / "scratch"))
    (found,) = findings
    assert found.code == code
    assert found.primary is not None
    span = found.primary.span
    assert span.file == "blueprint.conf"
    line = blueprint.split("\n")[span.line - 1]
    assert line[span.column - 1 : span.end_column - 1] == marked
    assert help in found.help or not help
