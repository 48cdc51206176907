"""An application whose files are open in an editor: its latest verification, with the unsaved texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.catalog import LoadFailure, StreamletRequest
from blueprint.hocon.blocks import Blocks, EditedTexts
from blueprint.model.blueprint_files import BLUEPRINT_NAMES
from blueprint.verification.descriptors import requests
from cli.application import SUFFIXES, Application
from cli.lsp.schemas import column_types, title
from streamlets.project.catalog import ProjectCatalog
from streamlets.project.loading import framework_classes
from streamlets.project.modules import project_at

if TYPE_CHECKING:
    from blueprint.known_keys import KnownKey
    from blueprint.model.draft import Draft
    from blueprint.verification.verify import Verification


class OpenApplication:
    """An application in an editor.

    Modules are imported once, and again after a file of the project was saved.

    Attributes:
        blueprint: the absolute path of the blueprint.
        verification: the latest one; None before the first.
        draft: what was read last; the texts may have errors since then.
        catalog: describes the classes of the project.
        stale: whether the modules have to be imported again.
    """

    def __init__(self, blueprint: Path) -> None:
        """Create an application that is not verified yet.

        Arguments:
            blueprint: the absolute path of the blueprint.
        """
        self.blueprint = blueprint
        self.verification: Verification | None = None
        self.draft: Draft | None = None
        self.catalog = ProjectCatalog()
        self.stale = False
        self._blocks: dict[Path, Blocks] = {}
        self._repaired = ""

    def verify(self, texts: Mapping[Path, str]) -> Verification:
        """Verify the application.

        Arguments:
            texts: the texts of open files by resolved path.
        """
        if self.stale:
            self.stale = False
            project_at(self.blueprint.parent).forget_modules()
            self.catalog = ProjectCatalog()
        verification = self.trial(texts)
        self.verification = verification
        self.draft = verification.draft or self.draft
        return verification

    @property
    def unreadable(self) -> bool:
        """Whether the latest verification could not read the texts."""
        return self.verification is None or self.verification.draft is None

    def read_repaired(self, texts: Mapping[Path, str], file: Path, repaired: str) -> None:
        """Read the application as it would be with another text.

        Arguments:
            texts: the texts of open files by resolved path.
            file: the resolved path of a file of the application.
            repaired: its text without what is being written.
        """
        if self._repaired != repaired:  # it is the same for each letter of a word
            self._repaired = repaired
            self.draft = self.trial({**texts, file: repaired}).draft or self.draft

    def trial(self, texts: Mapping[Path, str]) -> Verification:
        """Verify other texts, and forget the result."""
        edited = EditedTexts(texts, self._blocks)
        return Application(self.blueprint, (), ()).verify(self.catalog, texts=edited, planned=False)

    def classes(self) -> set[str]:
        """Return the class paths that the blueprint may name."""
        return {*self.catalog.classes(str(self.blueprint.parent)), *framework_classes()}

    def known_keys(self, ref: str) -> tuple[KnownKey, ...]:
        """Return the keys and values that the parameters of a streamlet may have, beyond its declarations.

        Arguments:
            ref: the name of the streamlet.
        """
        descriptor = self.draft.descriptor(ref) if self.draft is not None else None
        if self.draft is None or descriptor is None:
            return ()
        ports = (*descriptor.outlets, *descriptor.inlets)
        contracts = {port.name: port.contract for port in ports if port.contract is not None}
        columns = {name: column_types(contract) for name, contract in contracts.items()}
        return self.catalog.known_keys(requests(self.draft.blueprint, self.draft.settings)[ref], columns)

    def class_doc(self, class_name: str) -> str:
        """Return the description of a class and its ports as Markdown; the problem if it cannot be described.

        Arguments:
            class_name: the class path.
        """
        described = self.catalog.describe(StreamletRequest("", class_name, str(self.blueprint.parent)))
        if isinstance(described, LoadFailure):
            return described.message
        ports = [("inlet", port) for port in described.inlets] + [("outlet", port) for port in described.outlets]
        lines = [f"* {noun} `{port.name}`: {title(port.contract) or 'no schema'}" for noun, port in ports]
        return "\n".join((described.description, "", *lines))


def blueprint_of(file: Path, text: str = "") -> Path | None:
    """Return the blueprint that a file belongs to: the file itself, or the one in the nearest directory above it.

    Arguments:
        file: an absolute path.
        text: its content.
    """
    if file.name in BLUEPRINT_NAMES or (file.suffix in SUFFIXES and text.lstrip().startswith("blueprint")):
        return file
    for directory in file.parents:
        for name in BLUEPRINT_NAMES:
            if (directory / name).is_file():
                return directory / name
    return None
