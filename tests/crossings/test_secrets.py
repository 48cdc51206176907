"""Secrets in every place that the project's tables have are looked for in the output of every command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprint.settings.secret_texts import SECRET
from tests.cli.conftest import Flow, flow
from tests.cli.lsp.editor import Editor
from tests.crossings.planted import Planter, found_in, settings_of_tables, sinks, sources

__all__ = ["flow"]

MODULE = """
from streamlets import AvroOutlet, BatchSource, ObjectParameter, SparkStreamlet, SparkStreamletLogic, StringParameter


class Feed(SparkStreamlet):
    rows = AvroOutlet(schema="n bigint")
    options = ObjectParameter("Options", default={{}})
    password = StringParameter("Password", default="{0}")
    api_key = StringParameter("Key", default="{1}")
    address = StringParameter("Address", default="jdbc:x://bob:{2}@db/x?password={3}")
    login = StringParameter("Login", default="")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            raise NotImplementedError


class Pages(BatchSource):
    rows = AvroOutlet(schema="n bigint")
    token = ObjectParameter("Where the token is", default={{}})
    options = ObjectParameter("Options", default={{}})

    def open(self, config, context):
        pass

    def discover(self, eat, event):
        pass

    def prepare(self, task):
        pass

    def read_next(self):
        return None
"""

VERIFY_FORMATS = ("full", "concise", "github", "json", "sarif")
GRAPH_FORMATS = ("terminal", "svg", "mermaid", "dot", "graphml", "json")


def blueprint(planter: Planter, extra: str = "") -> str:
    """Return a blueprint with a secret in each parameter, variable and argument that can have one."""
    secret, settings, urls = planter.secret, planter.settings, planter.urls
    statement = (
        f"SAVE STREAM rows TO jdbc OPTIONS ('url' = 'jdbc:postgresql://h/d?password={secret()}', 'table' = 't', "
    )
    statement += f"'user' = 'u', 'password' = '${{quoted.deep}}{secret()}')"
    return f'''
blueprint {{
  streamlets {{
    feed {{ class = planted_app.Feed, parameters {{ options {{ {settings()}, {urls()} }}, password = "{secret()}"
      login = ${{PLANTED_PASSWORD}} }} }}
    pages {{
      class = planted_app.Pages
      parameters {{
        options {{ {settings()}, {urls()} }}, token {{ env = PLANTED_VARIABLE }}
        discovery {{ triggerer = immediate, config {{ }} }}
      }}
    }}
    spout {{
      class = streamlets.Spout
      outlets.out = "n bigint"
      parameters {{
        cmd = ["/bin/true", "--url", "https://h/p?token={secret()}", "--password={secret()}", "--api-key", "{secret()}"]
        env {{ {settings().replace("headers.", "password.")}, {urls()} }}
        secrets {{ TOKEN {{ env = PLANTED_VARIABLE }} }}
      }}
    }}
    sql {{
      class = streamlets.Sql
      inlets.rows = "n bigint"
      parameters {{
        statements = """{statement}"""
        variables {{ quoted {{ deep = "{secret()}" }} }}
      }}
    }}
  }}
  topics {{
    rows {{ producers = [feed.rows], consumers = [sql.rows] }}
    pages {{ producers = [pages.rows] }}
    out {{ producers = [spout.out] }}
  }}
}}
flow.application = planted
flow.runtimes.spark {{ hadoop {{ {settings()}, {urls()} }} }}
flow.streamlets.feed.spark {{ spark.hadoop {{ {settings()} }} }}
{extra}
'''


@pytest.fixture
def planter() -> Planter:
    return Planter()


@pytest.fixture
def project(tmp_path: Path, planter: Planter, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project that verifies, with secrets everywhere."""
    for name in ("PLANTED_VARIABLE", "PLANTED_PASSWORD"):
        monkeypatch.setenv(name, planter.secret())
    (tmp_path / "planted_app.py").write_text(MODULE.format(*(planter.secret() for _ in range(4))))
    (tmp_path / "blueprint.conf").write_text(blueprint(planter))
    return tmp_path


QUICK = (("verify",), ("config",))
"""The commands that show the most, for projects with many findings."""

ALL = (
    *(("verify", "--format", form) for form in VERIFY_FORMATS),
    *(("graph", "--format", form) for form in GRAPH_FORMATS),
    ("verify", "--diff"), ("describe",), ("config",), ("config", "--format", "json"),
    *(("config", "--explain", key) for key in ("streamlets", "topics", "runtimes")),
    ("streamlets",), ("streamlets", "--format", "json"), ("status",),
)  # fmt: skip


def outputs(
    flow: Flow, project: Path, *more: str, commands: Iterable[tuple[str, ...]] = QUICK
) -> Iterator[tuple[str, str]]:
    """Yield the output of commands that read a blueprint."""
    for command, *options in commands:
        result = flow(command, str(project), *more, *options)
        yield " ".join((command, *options)), result.out + result.err


def shown(results: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the lines of outputs that show a secret, by command."""
    return {
        call: lines[:5] for call, text in results if (lines := [line for line in text.splitlines() if found_in(line)])
    }


def test_a_valid_application(flow: Flow, project: Path, planter: Planter) -> None:
    """No command shows a secret of an application without errors, which has a descriptor, too."""
    assert flow("verify", str(project)).code == 0
    assert shown(outputs(flow, project, commands=ALL)) == {}
    assert planter.count >= 100


def test_every_setting_sink_and_source(flow: Flow, project: Path, planter: Planter) -> None:
    """Nor of one with errors in all settings, whose lines are shown as excerpts."""
    blocks = [
        f'sink{n} {{ class = streamlets.Sink, inlets.in = "n bigint", parameters {{ to = {sink}, options {{ '
        f'"{option}" = "{value}", {planter.settings()}, {planter.urls()} }} }} }}'
        for n, (sink, option, value) in enumerate(sinks(planter))
    ]
    blocks += [
        f'source{n} {{ class = streamlets.Source, outlets.out = "n bigint", parameters {{ from = {source}, options {{ '
        f'"{option}" = "{value}", {planter.settings()}, {planter.urls()} }} }} }}'
        for n, (source, option, value) in enumerate(sources(planter))
    ]
    more = "blueprint.streamlets {\n" + "\n".join(blocks) + "\n}\n" + settings_of_tables(planter)
    (project / "blueprint.conf").write_text(blueprint(planter, more))
    assert shown(outputs(flow, project)) == {}
    assert planter.count >= 300


@pytest.mark.parametrize("broken", ["", "x = ["])
def test_arguments_and_files_of_settings(flow: Flow, project: Path, planter: Planter, broken: str) -> None:
    """Nor what comes from `--conf` and `key=value`, also if a file cannot be read."""
    conf = project / "more.conf"
    conf.write_text(f"flow.streamlets.feed.parameters.options {{ {planter.settings()}, {planter.urls()} }}\n{broken}")
    arguments = [f"flow.streamlets.feed.parameters.password={planter.secret()}", "--conf", str(conf)]
    assert shown(outputs(flow, project, *arguments)) == {}


def test_jobs(flow: Flow, tmp_path: Path, planter: Planter) -> None:
    """Nor a job, whose secrets are in its statements, or in variables that they use, named as nobody would guess."""
    job = tmp_path / "job.sql"
    statements = ["CREATE STREAM r FROM rate;"]
    for sink, option, value in sinks(planter):
        literal = f"SAVE STREAM r TO {sink} OPTIONS ('{option}' = '{value}', 'table' = 't'"
        statements.append(f"{literal}, 'password' = '${{plain}}', 'x.token' = 'a-${{deep.er}}');")
    job.write_text("\n".join(statements))
    arguments = (f"plain={planter.secret()}", f"deep.er={planter.secret()}")
    assert shown(outputs(flow, job, *arguments)) == {}
    job.write_text("CREATE STREAM r FROM rate; SAVE STREAM r TO jdbc OPTIONS ('url' = 'jdbc:x://h/d', 'table' = 't', "
                   "'password' = '${plain}${deep.er}');")  # fmt: skip
    assert shown(outputs(flow, job, *arguments, commands=(*QUICK, ("describe",)))) == {}


def test_a_comparison(flow: Flow, project: Path, planter: Planter) -> None:
    """Nor what changed since another version, even if that version stored secrets."""
    described = flow("describe", str(project)).out
    assert found_in(described) == set()
    assert SECRET in described
    older = project / "older.json"

    def with_secrets(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: with_secrets(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [with_secrets(item) for item in value]
        return value.replace(SECRET, planter.secret()) if isinstance(value, str) else value

    older.write_text(json.dumps(with_secrets(json.loads(described))))
    other = Planter()
    other.count = 5000
    (project / "blueprint.conf").write_text(blueprint(other))
    for form in VERIFY_FORMATS:
        result = flow("verify", str(project), "--against", str(older), "--format", form)
        assert found_in(result.out + result.err) == set(), form


def test_an_editor(project: Path, planter: Planter) -> None:
    """Nor diagnostics and hovers of an editor, which has the text itself: they do not repeat its secrets."""
    file = project / "blueprint.conf"
    text = blueprint(planter, f"flow.streamlets.feed.parameters.db-password = {planter.secret()}")
    file.write_text(text)
    answers = []
    with Editor(project) as editor:
        editor.open(file)
        findings = editor.event("textDocument/publishDiagnostics")
        for name in re.finditer(r"(?m)^    (\w+) \{|(password|statements|secrets|options) ", text):
            start = name.start(name.lastindex or 0)
            line = text.count("\n", 0, start)
            character = start - text.rfind("\n", 0, start)
            answers.append(editor.ask("textDocument/hover", editor.at(file, line, character)))
    assert any(answers)
    assert found_in(json.dumps([findings, *answers])) == set()
