"""A single mistake in a valid application has exactly one finding, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.catalog import LoadFailure, LoadFailureKind, ParameterDescriptor, ParameterType, VolumeMountDescriptor
from blueprint.diagnostics import Fix
from blueprint.verification.verify import Verification, verify
from tests.blueprint.paper import PaperCatalog, at, record, streamlet

READING = record("Reading", src="string", value="double")
MEAN = record("Mean", src="string", mean="double")
PARAMETERS = (
    ParameterDescriptor(key="rate", description="", type=ParameterType.INTEGER, default="10", declared=at(3)),
    ParameterDescriptor(key="pause", description="", type=ParameterType.DURATION, default="1 second", declared=at(4)),
    ParameterDescriptor(
        key="station", description="", type=ParameterType.REGEXP, default=None, declared=at(5), pattern="[A-Z]{3}"
    ),
)
CATALOG = PaperCatalog(
    streamlet("app.Sensors", outlets={"readings": READING}, parameters=PARAMETERS, line=10, on_invalid="dead-letters"),
    streamlet("app.Means", inlets={"readings": READING}, outlets={"means": MEAN}, line=30),
    streamlet("app.Join", inlets={"left": MEAN, "right": MEAN}, outlets={"pairs": MEAN}, line=50),
    streamlet(
        "app.Archive", inlets={"in": MEAN}, line=70,
        volume_mounts=(VolumeMountDescriptor("out", "/no/such/folder", "ReadWriteMany", at(71)),),
    ),
    streamlet("app.OtherArchive", inlets={"in": record("Mean", src="string", mean="string")}, line=90),
    streamlet("app.Letters", inlets={"letters": record("Letter", src="string")}, line=100),
    ("app.Broken", LoadFailure(LoadFailureKind.CONSTRUCTOR_RAISES, "ValueError: no")),
)  # fmt: skip

RIGHT = """\
blueprint {
  streamlets {
    east { class = app.Sensors, parameters { station = OSL } }
    west { class = app.Sensors, parameters { station = BGO, rate = 5 } }
    east-means = app.Means
    west-means = app.Means
    join = app.Join
    archive { class = app.Archive, volume-mounts { out = results } }
  }
  topics {
    east-readings { producers = [east.readings], consumers = [east-means.readings] }
    west-readings { producers = [west.readings], consumers = [west-means.readings] }
    east-means { producers = [east-means.means], consumers = [join.left] }
    west-means { producers = [west-means.means], consumers = [join.right] }
    pairs { producers = [join.pairs], consumers = [archive.in] }
  }
}
"""

# The replaced text, its replacement, and code, line and column of the finding.
MISTAKES = [
    # sections and keys
    ("blueprint {", "blueprnt {", "unknown-key", 1, 1),
    ("  topics {", "  topcs {", "unknown-key", 10, 3),
    ("  streamlets {", "  streamlet {", "unknown-key", 2, 3),
    ("  topics {", "  color = red\n  topics {", "unknown-key", 10, 3),
    ("pairs { producers", "pairs { producer", "unknown-key", 15, 13),
    ("consumers = [archive.in]", "consmers = [archive.in]", "unknown-key", 15, 39),
    ("[archive.in]", "archive.in", "wrong-type", 15, 51),
    ("[archive.in]", "[[archive.in]]", "wrong-type", 15, 52),
    ("  topics {", "  allow-cycles = maybe\n  topics {", "wrong-type", 10, 18),
    ("join = app.Join", "join = 7", "wrong-type", 7, 12),
    ("join = app.Join", "join = [app.Join]", "wrong-type", 7, 12),
    ("join = app.Join", "join { clas = app.Join }", "unknown-key", 7, 12),
    ("join = app.Join", "join {}", "class-path", 7, 5),
    # names
    ("east-means = app.Means", "east-means = Means", "class-path", 5, 18),
    ("east-means = app.Means", 'east-means = "app.2Means"', "class-path", 5, 18),
    ("    pairs {", "    joined.pairs {", "topic-id", 15, 5),
    ("    pairs {", '    "a/b" {', "topic-id", 15, 5),
    ("    pairs {", f"    {'p' * 250} {{", "topic-id", 15, 5),
    ("    pairs {", "    _staged {", "topic-id", 15, 5),
    ("    pairs {", "    _Pairs {", "topic-id", 15, 5),
    ("    pairs {", '    ".pairs" {', "topic-id", 15, 5),
    ("consumers = [archive.in]", "consumers = [archive.in], topic.name = _Staged", "topic-name", 15, 78),
    ("consumers = [archive.in]", "consumers = [archive.in], managed = no, topic.name = _x", "topic-name", 15, 92),
    ("consumers = [archive.in]", 'consumers = [archive.in], topic.name = "."', "topic-name", 15, 78),
    ("consumers = [archive.in]", "consumers = [archive.in], topic.name = east-means", "topic-name-clash", 15, 78),
    # streamlets
    ("join = app.Join", "join = app.Joiin", "class-not-found", 7, 12),
    ("join = app.Join", "join = app.Broken", "constructor-raises", 7, 12),
    # ports
    ("[archive.in]", "[archive]", "port-path", 15, 52),
    ("[archive.in]", '["archive..in"]', "port-path", 15, 52),
    ("[archive.in]", '[""]', "port-path", 15, 52),
    ("[archive.in]", "[archiv.in]", "unknown-streamlet", 15, 52),
    ("archive { class", "archve { class", "unknown-streamlet", 15, 52),
    ("    join = ", "    joinn = ", "unknown-streamlet", 13, 63),
    ("[archive.in]", "[archive.inn]", "unknown-port", 15, 52),
    ("[archive.in]", "[archive.records]", "unknown-port", 15, 52),
    ("[join.pairs]", "[join.pears]", "unknown-port", 15, 26),
    ("[join.pairs]", "[join.left]", "wrong-direction", 15, 26),
    ("producers = [join.pairs], consumers = [archive.in]", "producers = [archive.in], consumers = [join.pairs]",
     "wrong-direction", 15, 26),
    ("[archive.in]", "[archive.in, archive.in]", "port-listed-twice", 15, 64),
    ("[join.left]", "[join.left, archive.in]", "port-bound-twice", 15, 52),
    (", consumers = [archive.in]", "", "port-unconnected", 8, 5),
    ("producers = [join.pairs], ", "", "port-unconnected", 7, 5),
    ("    pairs { producers = [join.pairs], consumers = [archive.in] }\n", "", "port-unconnected", 7, 5),
    # topics
    ("[archive.in] }", "[archive.in] }\n    spare {}", "topic-unused", 16, 5),
    ("[archive.in] }", "[archive.in], channel = dalta }", "unknown-channel", 15, 75),
    ("[archive.in] }", "[archive.in], managed = no, topic.partitions = 3 }", "topic-settings-contradict", 15, 85),
    # contracts
    ("app.Archive, volume-mounts { out = results }", "app.OtherArchive", "contract-incompatible", 15, 52),
    # parameters
    ("rate = 5", "rate = five", "parameter-value", 4, 68),
    ("rate = 5", "rate = 5.5", "parameter-value", 4, 68),
    ("rate = 5", "rate = {}", "parameter-value", 4, 68),
    ("rate = 5", "pause = 5 lightyears", "parameter-value", 4, 69),
    ("station = BGO", "station = bgo", "parameter-value", 4, 56),
    ("station = BGO, ", "", "parameter-missing", 4, 5),
    ("station = BGO", "station = null", "parameter-missing", 4, 5),
    ("station = BGO", "staton = BGO", "unknown-parameter", 4, 46),
    ("rate = 5", "colour = red", "unknown-parameter", 4, 61),
    # volume mounts
    ("volume-mounts { out = results }", "volume-mounts { outt = results }", "unknown-volume-mount", 8, 52),
    (", volume-mounts { out = results }", "", "volume-mount-missing", 8, 5),
    ("out = results", "out = [results]", "wrong-type", 8, 58),
]  # fmt: skip


def verified(text: str, directory: Path) -> Verification:
    """Verify a blueprint with the streamlets on paper."""
    (directory / "blueprint.conf").write_text(text, encoding="utf-8")
    return verify("blueprint.conf", catalog=CATALOG, environment={}, working_directory=directory)


def test_the_valid_application_has_no_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mistake, there is a plan."""
    monkeypatch.chdir(tmp_path)
    verification = verified(RIGHT, tmp_path)
    assert verification.diagnostics == ()
    assert verification.plan is not None


@pytest.mark.parametrize(("old", "new", "code", "line", "column"), MISTAKES,
                         ids=lambda value: str(value) if isinstance(value, str) else "")  # fmt: skip
def test_one_mistake_gives_one_finding(
    old: str, new: str, code: str, line: int, column: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is exactly one finding, with the code of the mistake and its place."""
    monkeypatch.chdir(tmp_path)
    assert old in RIGHT
    diagnostics = verified(RIGHT.replace(old, new, 1), tmp_path).diagnostics
    primaries = [(diagnostic.code, diagnostic.primary) for diagnostic in diagnostics]
    assert [(code, label.span.line, label.span.column) for code, label in primaries if label] == [(code, line, column)]


def fixed(text: str, fix: Fix) -> str:
    """Return the text with the edits of a fix, the last one made first."""
    lines = text.split("\n")
    for edit in sorted(fix.edits, key=lambda edit: edit.span, reverse=True):
        span = edit.span
        before, after = lines[span.line - 1][: span.column - 1], lines[span.end_line - 1][span.end_column - 1 :]
        lines[span.line - 1 : span.end_line] = (before + edit.replacement + after).split("\n")
    return "\n".join(lines)


def test_fixes_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix leaves no finding; a dozen mistakes have a fix."""
    monkeypatch.chdir(tmp_path)
    fixes = 0
    for old, new, code, *_ in MISTAKES:
        text = RIGHT.replace(old, new, 1)
        (diagnostic,) = verified(text, tmp_path).diagnostics
        if diagnostic.fix is not None:
            fixes += 1
            assert verified(fixed(text, diagnostic.fix), tmp_path).diagnostics == (), (code, new)
    assert fixes >= 12


OLD = """\
blueprint {
  streamlets {
    # gauges
    east { class = app.Sensors, parameters { station = OSL } }
    means = app.Means
    archive { class = app.Archive, volume-mounts { out = results } }
  }
  connections {
    east = [means]
    means.means = [archive.in]
  }
}
"""


def test_the_wiring_of_1x_is_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fix of a `connections` section makes a valid blueprint, with the same comments and layout."""
    monkeypatch.chdir(tmp_path)
    (diagnostic,) = verified(OLD, tmp_path).diagnostics
    assert diagnostic.code == "connections-section"
    assert diagnostic.fix is not None
    new = fixed(OLD, diagnostic.fix)
    assert verified(new, tmp_path).diagnostics == ()
    assert new.startswith(OLD.split("  connections")[0])
    assert "\n    means { producers = [means.means], consumers = [archive.in] }\n  }\n" in new
