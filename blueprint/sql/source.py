"""Where the blueprint of a path comes from: a blueprint's own file, or a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from blueprint.diagnostics import Sources
from blueprint.hocon import Layer
from blueprint.model.source import FileSource, Source

SUFFIX = ".sql"
"""The suffix of job files."""


@dataclass(frozen=True, slots=True)
class JobSource(FileSource):
    """The blueprint of a job file: see `job_layer`."""

    def layer(self, sources: Sources, texts: Mapping[Path, str]) -> Layer:
        """Read the job; see `Source.layer`."""
        from blueprint.sql.layer import job_layer  # blueprints need not pay for the import

        return job_layer(self.path, texts)


def source_at(path: Path) -> Source:
    """Return the blueprint of a path, by its suffix."""
    return JobSource(path) if path.suffix == SUFFIX else FileSource(path)
