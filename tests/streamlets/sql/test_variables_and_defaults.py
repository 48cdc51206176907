"""Variables without a value, and classes that set the statements themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.verification.verify import Verification, verify
from streamlets.project.catalog import ProjectCatalog
from tests.pages import blocks

SENSORS = """
from streamlets import *

Reading = "station string, celsius double"
Hot = "station string"


class Sensors(SparkStreamlet):
    out = AvroOutlet(schema=Reading)

    class Logic(SparkStreamletLogic["Sensors"]):
        def build_streaming_queries(self):
            return []
"""


def verified(directory: Path, parameters: str, name: str = "streamlets.Sql") -> Verification:
    """Verify an application with a streamlet of SQL."""
    (directory / "weather.py").write_text(SENSORS)
    outlet = ', outlets.hot { schema = "station string" }' if name == "streamlets.Sql" else ""
    (directory / "blueprint.conf").write_text(
        "blueprint {\n  streamlets {\n    sensors = weather.Sensors\n"
        f"    heat {{ class = {name}{outlet}\n{parameters}\n    }}\n  }}\n"
        "  topics {\n    readings { producers = [sensors.out], consumers = [heat.readings] }\n"
        "    hot { producers = [heat.hot] }\n  }\n}\n"
    )
    return verify("blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=directory)


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("SAVE STREAM readings (station) TO ${target};", "${target}"),
        ("SAVE STREAM ${target} TO hot;", "${target}"),
        ("CREATE TEMPORARY VIEW v AS SELECT station FROM readings WHERE celsius > ${limti}; SAVE STREAM v TO hot;", ""),
        ("SAVE STREAM readings (station) TO json OPTIONS ('path' = 'out/${target}');", "${target}"),
    ],
)
def test_a_variable_without_a_value_is_a_finding_at_its_place(statement: str, place: str, tmp_path: Path) -> None:
    """It has the code that it has in a job file, and is the only finding about the statement."""
    line = f'      parameters {{ statements = "{statement}", variables.limit = 3 }}'
    found = [item for item in verified(tmp_path, line).diagnostics if item.code.startswith(("sql", "unresolved"))]
    place = place or "${limti}"
    assert [item.code for item in found] == ["unresolved-substitution"], found
    assert found[0].primary is not None
    assert (found[0].primary.span.line, found[0].primary.span.column) == (5, line.index(place) + 1)
    help = "did you mean `limit`?" if "limti" in place else "set `target` in the parameter `variables`"
    assert found[0].help[0] == help
    job = tmp_path / "job.sql"
    job.write_text(f"CREATE STREAM readings (station STRING) FROM json OPTIONS ('path' = 'in');\n{statement}")
    diagnostics = verify(
        "job.sql", catalog=ProjectCatalog(), environment={}, working_directory=tmp_path
    ).diagnostics  # fmt: skip
    assert [item.code for item in diagnostics] == ["unresolved-substitution"]


def test_an_optional_variable_may_be_missing(tmp_path: Path) -> None:
    """`${?...}` is empty."""
    line = '      parameters.statements = "SAVE STREAM readings (station) TO ${?absent}hot;"'
    codes = {item.code for item in verified(tmp_path, line).diagnostics}
    assert "unresolved-substitution" not in codes


def test_the_documented_class_of_its_own(tmp_path: Path) -> None:
    """A class whose statements are a default verifies, and a mistake in them is at their declaration."""
    (page,) = (block for block in blocks("docs/save-stream.md", "python") if "class Heat" in block)
    source = f"import streamlets\nfrom weather import *\n\n\n{page}"
    (tmp_path / "own.py").write_text(source)
    found = verified(tmp_path, "", "own.Heat").diagnostics
    assert [item.code for item in found] == ["topic-without-consumers"]
    (tmp_path / "broken.py").write_text(source.replace("SAVE STREAM readings", "SAVE STREAM reading"))
    (mistake,) = (item for item in verified(tmp_path, "", "broken.Heat").diagnostics if item.code.startswith("sql"))
    assert mistake.code == "sql-unknown-name" and mistake.primary is not None
    assert mistake.primary.span.file.endswith("broken.py")
    assert "statements =" in source.split("\n")[mistake.primary.span.line - 1]
