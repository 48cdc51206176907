"""`verify` takes a blueprint from a file, from a text, and from any other source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from blueprint.diagnostics import Sources
from blueprint.hocon import Layer, parse_text
from blueprint.model.source import FileSource, Source, TextSource
from blueprint.verification.verify import Verification, verify
from tests.blueprint.paper import PaperCatalog, record, streamlet

RECORD = record("Reading", src="string")
CATALOG = PaperCatalog(
    streamlet("app.Source", outlets={"out": RECORD}), streamlet("app.Sink", inlets={"in": RECORD}, line=30)
)
TEXT = """blueprint {
  streamlets { source = app.Source, sink = app.Sink }
  topics { readings { producers = [source.out], consumers = [sink.in] } }
}
"""
YAML = """blueprint:
  streamlets: { source: app.Source, sink: app.Sink }
  topics: { readings: { producers: [source.out], consumers: [sink.inn] } }
"""
BROKEN = TEXT.replace("sink.in]", "sink.inn]")


def verified(source: Source | Path | str, texts: Mapping[Path, str] | None = None) -> Verification:
    """Verify a source."""
    return verify(source, catalog=CATALOG, environment={}, working_directory=Path.cwd(), texts=texts)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_text_has_the_findings_and_the_plan_of_its_file(directory: Path) -> None:
    """Names, places and excerpts are the same, and the plan is: an editor shows what `flow verify` will report."""
    for text in (TEXT, BROKEN, TEXT[:-3], "", " \n"):
        (directory / "app.conf").write_text(text)
        of_file = verified("app.conf")
        lines = of_file.sources.lines("app.conf")
        (directory / "app.conf").unlink()
        of_text = verified(TextSource(text, "app.conf", directory))
        assert of_text.diagnostics == of_file.diagnostics
        assert (of_text.plan, of_text.blueprint) == (of_file.plan, of_file.blueprint)
        assert of_text.sources.lines("app.conf") == lines


def test_a_path_is_a_source(directory: Path) -> None:
    """The name is relative to the working directory; a file that does not exist is a finding with suggestions."""
    (directory / "shop").mkdir()
    (directory / "shop" / "blueprint.conf").write_text(TEXT)
    verification = verified(FileSource(directory / "shop" / "blueprint.conf"))
    assert verification.plan is not None
    assert (verification.blueprint, verification.plan.directory) == ("shop/blueprint.conf", str(directory / "shop"))
    (missing,) = verified(FileSource(directory / "blueprint.conf")).diagnostics
    assert missing.help[0] == "did you mean `shop`?"


def test_includes_of_a_text_start_from_its_directory(directory: Path) -> None:
    """Included files are read, also from the texts of an editor; a text that includes itself is reported."""
    (directory / "parts").mkdir()
    (directory / "parts" / "topics.conf").write_text("flow.application = weather")
    source = TextSource(f'include "topics"\n{TEXT}', "untitled.conf", directory / "parts")
    plan = verified(source).plan
    assert plan is not None
    assert plan.name == "weather"
    plan = verified(source, {(directory / "parts" / "topics.conf").resolve(): "flow.application = climate"}).plan
    assert plan is not None
    assert plan.name == "climate"
    (directory / "parts" / "topics.conf").write_text('include "untitled.conf"')
    (directory / "parts" / "untitled.conf").write_text("")
    assert [finding.code for finding in verified(source).diagnostics] == ["include-cycle"]


def test_the_name_decides_on_the_format(directory: Path) -> None:
    """A name that ends in `.yaml` is that of YAML; places are in the text."""
    (finding,) = verified(TextSource(YAML, "app.yaml", directory)).diagnostics
    assert finding.primary is not None
    assert (finding.code, finding.primary.span.file, finding.primary.span.line) == ("unknown-port", "app.yaml", 3)


@dataclass(frozen=True)
class OneLine:
    """A source in a notation of its own: the name of an application."""

    text: str
    directory: Path
    name: str = "one.line"

    def layer(self, sources: Sources, texts: Mapping[Path, str]) -> Layer:
        """Return the blueprint of the application with this name."""
        sources.add(self.name, self.text)
        return parse_text(f"flow.application = {self.text}\n{TEXT}", self.name, self.directory, texts)


def test_other_packages_have_sources_of_their_own(directory: Path) -> None:
    """Anything that returns a layer is a source; its text is the one that findings show."""
    verification = verified(OneLine("storms", directory))
    assert verification.plan is not None
    assert (verification.plan.name, verification.plan.directory) == ("storms", str(directory))
    assert verification.sources.lines("one.line") == ["storms"]
