"""One mistake in a setting is one finding, at the line of the mistake, at each level at which the setting may be set.

The settings are those of the table, with those of all channels; a new row is tested the day it is added.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.diagnostics import Diagnostic
from blueprint.setting import Setting
from blueprint.setting_types import SCHEMA, STRING, Codec, Structure
from blueprint.settings.known_settings import every_setting
from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog

MODULE = """
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic, StringParameter


class Source(SparkStreamlet):
    out = AvroOutlet(schema="n long", on_invalid="dead-letters")
    more = AvroOutlet(schema="n long")
    name = StringParameter("A name", default="x")

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            return []


class Printer(SparkStreamlet):
    rows = AvroInlet("in", schema="n long")
    others = AvroInlet(schema="n long")

    class Logic(SparkStreamletLogic["Printer"]):
        def build_streaming_queries(self):
            return []
"""
CLUSTER = '\nflow.kafka.clusters.main.bootstrap.servers = "127.0.0.1:9092"'
BLUEPRINT = """blueprint {
  streamlets { source = app.Source, printer = app.Printer }
  topics {
    rows   { producers = [source.out], consumers = [printer.in] }
    others { producers = [source.more], consumers = [printer.others] }
  }
}
flow.kafka.clusters.default.bootstrap.servers = "127.0.0.1:9092"
flow.channel = CHANNEL
"""
NAMES = {
    "streamlets.<ref>.inlets.<port>": "streamlets.printer.inlets.in", "<ref>": "source", "<id>": "rows",
    "<port>": "out", "<query>": "main", "<name>": "default", "<code>": "cycle",
}  # fmt: skip


def _path(setting: Setting) -> str:
    path = f"flow.{setting.path}"
    for placeholder, name in NAMES.items():
        path = path.replace(placeholder, name)
    return path


def _settings() -> list[tuple[str, Setting]]:
    channels = ProjectCatalog().channels()
    settings: list[tuple[str, Setting]] = []
    for name in ("delta", "kafka"):
        settings += [(name, setting) for setting in every_setting([channels[name]]) if "<" not in setting.key[-1:]]
    return settings


SETTINGS = _settings()


def _findings(directory: Path, channel: str, mistake: str) -> list[Diagnostic]:
    (directory / "app.py").write_text(MODULE, encoding="utf-8")
    text = BLUEPRINT.replace("CHANNEL", channel)
    (directory / "blueprint.conf").write_text(text, encoding="utf-8")
    (directory / "mistake.conf").write_text(f"# the mistake:\n{mistake}\n", encoding="utf-8")
    result = verify(
        directory / "blueprint.conf", catalog=ProjectCatalog(), conf_files=[directory / "mistake.conf"],
        environment={}, working_directory=directory, planned=False,
    )  # fmt: skip
    return [finding for finding in result.diagnostics if finding.severity.value != "note"]


def _fault(findings: list[Diagnostic], mistake: str) -> str:
    places = [finding.primary.span for finding in findings if finding.primary is not None]
    shown = [f"{finding.code}: {finding.headline} ({finding.primary})" for finding in findings]
    if len(findings) != 1:
        return f"{mistake}: {len(findings)} findings: {shown}"
    if [(Path(place.file).name, place.line) for place in places] != [("mistake.conf", 2)]:
        return f"{mistake}: at another place: {shown}"
    return ""


@pytest.mark.parametrize("channel", ["delta", "kafka"])
def test_a_misspelt_setting_is_one_finding(channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key of each setting, with its last letters swapped."""
    monkeypatch.chdir(tmp_path)
    faults = []
    for name, setting in SETTINGS:
        *section, key = _path(setting).split(".")
        if name != channel or setting.key.endswith(">") or len(key) < 4 or key[-1] == key[-2]:
            continue
        misspelt = key[:-2] + key[-1] + key[-2]
        value = "{}" if isinstance(setting.type, Structure) else "1"
        mistake = f"{'.'.join((*section, misspelt))} = {value}"
        faults.append(_fault(_findings(tmp_path, channel, mistake), mistake))
    assert len(faults) > 30
    assert not any(faults), "\n".join(filter(None, faults))


@pytest.mark.parametrize("channel", ["delta", "kafka"])
def test_a_value_of_the_wrong_type_is_one_finding(
    channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list for each single value, a string for each structure."""
    monkeypatch.chdir(tmp_path)
    faults = []
    for name, setting in SETTINGS:
        if name != channel or setting.type is SCHEMA:
            continue
        value = "[[1]]" if isinstance(setting.type, Codec) else '"?"'
        mistake = f"{_path(setting)} = {value}"
        faults.append(_fault(_findings(tmp_path, channel, mistake), mistake))
        if isinstance(setting.type, Codec) and setting.type is not STRING:
            mistake = f'{_path(setting)} = "not this"'
            faults.append(_fault(_findings(tmp_path, channel, mistake), mistake))
    assert len(faults) > 40
    assert not any(faults), "\n".join(filter(None, faults))


@pytest.mark.parametrize(
    "mistake",
    [
        "flow.channel = kafak", "flow.topics.rows.channel = kafak", "flow.trigger.real-time = 5 minutes",
        "flow.retry { min-backoff = 2 hours }", "flow.runtimes.spark.sql.shufle.partitions = 3",
        "flow.streamlets.source.spark.sql.shufle.partitions = 3", "flow.streamlets.sorce.group = a",
        "flow.topics.row.managed = true", "flow.streamlets.printer.inlets.inn.max-records = 1",
        "flow.streamlets.source.parameters.nmae = x", "flow.streamlets.source.parameters.name = []",
        "flow.streamlets.source.volume-mounts.data = /tmp", "flow.verify.rules.cycel = off",
        "flow.gruop = a", 'flow.application = "a/b"',
        "flow.trigger { processing-time = 1 s, available-now = true }", "flow.group { a = 1 }",
    ],
)  # fmt: skip
def test_other_mistakes(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of things that do not exist, contradictions, and settings that many topics or streamlets share."""
    monkeypatch.chdir(tmp_path)
    assert not _fault(_findings(tmp_path, "delta", mistake), mistake)


def test_a_cluster_that_is_not_defined_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All topics are in it."""
    monkeypatch.chdir(tmp_path)
    text = "\n".join(line for line in BLUEPRINT.splitlines() if "bootstrap" not in line and "CHANNEL" not in line)
    monkeypatch.setattr("tests.crossings.test_one_mistake.BLUEPRINT", f"{text}\n# CHANNEL\n")
    assert not _fault(_findings(tmp_path, "kafka", "flow.channel = kafka"), "no cluster")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("topics {", "topics {{"), ("  topics {", "  topics {{ "), ("streamlets {", "streamlets {{"),
        ("source = app.Source", "source = app*Source"), ("[printer.in]", "[printer?in]"), ("rows   {", "rows   {{"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_text_is_one_finding(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its line."""
    monkeypatch.chdir(tmp_path)
    text = BLUEPRINT.replace(before, after, 1)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if after in line)
    monkeypatch.setattr("tests.crossings.test_one_mistake.BLUEPRINT", text)
    (finding,) = _findings(tmp_path, "delta", "")
    assert finding.primary is not None
    assert finding.primary.span.line == line
