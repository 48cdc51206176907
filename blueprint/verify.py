"""Verification: blueprint, settings and streamlets in; findings out, and a plan when there is no error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint.catalog import Catalog
from blueprint.diagnostics import Checked, Diagnostic, Severity, Sources
from blueprint.graph import ApplicationGraph
from blueprint.plan import ApplicationPlan


@dataclass(frozen=True, slots=True)
class Verification:
    """What came out.

    Arguments:
        blueprint: the blueprint's file as the user would name it.
        diagnostics: all findings, sorted by place.
        plan: the application with every setting resolved; None when there is an error.
        sources: the texts that the findings point into.
        checked: how much was looked at.
        graph: streamlets and topics as far as they could be read, also when there are errors.
    """

    blueprint: str
    diagnostics: tuple[Diagnostic, ...]
    plan: ApplicationPlan | None
    sources: Sources
    checked: Checked
    graph: ApplicationGraph

    @property
    def ok(self) -> bool:
        """Whether nothing refuses a run."""
        return all(diagnostic.severity is not Severity.ERROR for diagnostic in self.diagnostics)


def verify(
    blueprint_path: Path | str,
    *,
    catalog: Catalog,
    conf_files: Sequence[Path | str] = (),
    arguments: Sequence[str] = (),
    environment: Mapping[str, str],
    working_directory: Path | str,
) -> Verification:
    """Verify an application without running anything of it but the streamlets' constructors.

    Arguments:
        blueprint_path: the blueprint (`.conf`, `.yaml`, `.yml` or `.json`).
        catalog: what knows streamlets and channels.
        conf_files: files of settings, later ones win.
        arguments: `key=value` settings, which win over files.
        environment: what `${NAME}` falls back to.
        working_directory: what relative paths start from and places are named after.

    Never raises for what a user did: that becomes a finding.
    """
    raise NotImplementedError
