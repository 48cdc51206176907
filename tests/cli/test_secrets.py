"""No command shows values of settings with secret names, or passwords in URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Flow

MODULE = """
from streamlets import AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic, StringParameter

class Feed(SparkStreamlet):
    rows = AvroOutlet(schema="n bigint")
    password = StringParameter("Password", default="hunter-default")
    api_key = IntegerParameter("A number that is a key", default=1)
    url = StringParameter("Where the records are", default="jdbc:x://bob:hunter-url@db/x")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            raise NotImplementedError
"""
BLUEPRINT = """
base = "hunter-base"
blueprint {
  streamlets { feed = secret_feed.Feed }
  topics { rows { producers = [feed.rows] } }
}
flow.application = plant
flow.runtimes.spark { hadoop.fs.s3a.secret.key = "hunter-spark", hadoop.fs.s3a.access.key = hunter-access }
flow.streamlets.feed {
  parameters { password = ${base}, %s }
}
"""


def _project(directory: Path, more: str) -> str:
    """Write a project with more settings in its blueprint, and return its directory."""
    (directory / "secret_feed.py").write_text(MODULE)
    (directory / "blueprint.conf").write_text(BLUEPRINT % more)
    return str(directory)


@pytest.mark.parametrize("form", ["full", "concise", "json", "github"])
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("api-key = hunter-key", "parameter-value"),
        ('pasword = "hunter-base", url2 = "jdbc:x://bob:hunter-url@db/x"', "unknown-parameter"),
        ('url = "x", password = "hunter-\\', "syntax"),
        ("api-key = [hunter-key]", "parameter-value"),
    ],
)
def test_findings_show_no_secret(flow: Flow, tmp_path: Path, form: str, more: str, code: str) -> None:
    """Neither an excerpt nor a message has one, also when the file cannot be parsed."""
    result = flow("verify", _project(tmp_path, more), "--format", form)
    assert result.code == 1
    assert code in result.out
    assert "hunter" not in result.out + result.err


def test_an_excerpt_keeps_its_columns(flow: Flow, tmp_path: Path) -> None:
    """Each character of a secret is one `*`, so that the caret is at the right column."""
    result = flow("verify", _project(tmp_path, "api-key = hunter-key"))
    (line,) = [line for line in result.out.splitlines() if "api-key =" in line]
    marked = result.out.splitlines()[result.out.splitlines().index(line) + 1]
    assert line.index("*" * len("hunter-key")) == marked.index("^")
    assert "password = ${base}" in line


def test_settings_are_listed_without_secrets(flow: Flow, tmp_path: Path) -> None:
    """The values in each layer are replaced; their places are shown."""
    directory = _project(tmp_path, 'url = "x"')
    every = flow("config", directory)
    assert every.code == 0
    assert "flow.streamlets.feed.parameters.password = (secret)" in every.out
    assert "flow.runtimes.spark.hadoop.fs.s3a.secret.key = (secret)" in every.out
    explained = flow("config", directory, "--explain", "streamlets.feed.parameters")
    assert "blueprint.conf" in explained.out
    assert "jdbc:x://(secret)@db/x" in explained.out
    assert "hunter" not in every.out + explained.out + every.err + explained.err
