"""Where a blueprint comes from: a file, or a text such as an unsaved one of an editor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from blueprint.diagnostics import Sources
from blueprint.hocon import Layer, empty_layer, parse_file, parse_text, shown_name
from blueprint.model.blueprint_files import with_suggestions


class Source(Protocol):
    """Where a blueprint comes from."""

    @property
    def name(self) -> str:
        """The name of its text in findings."""

    @property
    def directory(self) -> Path:
        """The directory from which modules are imported, and from which includes and relative paths start."""

    def layer(self, sources: Sources, texts: Mapping[Path, str]) -> Layer:
        """Read the blueprint; a mistake is a finding of the layer and never raises.

        Arguments:
            sources: receives a text that does not come from a file, under `name`.
            texts: the content of files, by resolved path, that is read instead of the files.
        """


@dataclass(frozen=True, slots=True)
class FileSource:
    """A blueprint in a file.

    Arguments:
        path: the file; its suffix decides on the format. It need not exist: that is a finding.
    """

    path: Path

    @property
    def name(self) -> str:
        """The path, relative to the working directory if below it."""
        return shown_name(self.path)

    @property
    def directory(self) -> Path:
        """The directory of the file."""
        return self.path.parent

    def layer(self, sources: Sources, texts: Mapping[Path, str]) -> Layer:
        """Read the file; see `Source.layer`."""
        layer = parse_file(self.path, texts)
        findings = (
            with_suggestions(finding, self.path, layer.file)
            if finding.code == "file-not-found" and finding.primary is None
            else finding
            for finding in layer.diagnostics
        )
        return replace(layer, diagnostics=tuple(findings))


@dataclass(frozen=True, slots=True)
class TextSource:
    """A blueprint in a text.

    Arguments:
        text: the text: YAML if the name ends in `.yaml` or `.yml`, otherwise HOCON.
        name: its name in findings, such as the path of the file that an editor has not saved yet.
        directory: the directory from which modules are imported, and from which includes and relative paths start.
    """

    text: str
    name: str
    directory: Path

    def layer(self, sources: Sources, texts: Mapping[Path, str]) -> Layer:
        """Parse the text; see `Source.layer`."""
        sources.add(self.name, self.text)
        if not self.text.strip():
            return empty_layer(self.name)
        return parse_text(self.text, self.name, self.directory, texts)
