"""The files of a deployment: their texts, comparing a directory with them, and writing them without losing others."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from streamlets.kubernetes.deployment import Deployment, ManifestError
from streamlets.kubernetes.image import dockerfile, ignored_files
from streamlets.kubernetes.kustomization import kustomization
from streamlets.kubernetes.objects import objects
from streamlets.kubernetes.yaml import to_yaml

Effect = Literal["created", "changed", "unchanged", "removed"]
"""What writing does to a file."""

_MARKER = re.compile(
    r"# Written by `flow manifests` for the application `(?P<application>[^`\n]*)`, "
    r"checksum (?P<checksum>[0-9a-f]{12})\. Change settings or use kustomize, and write it again\.\n"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that is not as it would be written.

    Arguments:
        name: of the file.
        diff: the lines that writing would remove and add.
    """

    name: str
    diff: str


def manifest_files(deployment: Deployment, directory: str) -> dict[str, str]:
    """Return the texts of the files by name, without their first line.

    Arguments:
        deployment: what is deployed.
        directory: where they are written, from the directory of the blueprint.

    Raises:
        ManifestError: the application cannot be deployed as its settings say.
    """
    written = {f"{name}.yaml": "---\n".join(map(to_yaml, documents)) for name, documents in objects(deployment)}
    return {
        "Dockerfile": dockerfile(deployment, directory),
        "Dockerfile.dockerignore": ignored_files(deployment, directory),
        "kustomization.yaml": to_yaml(kustomization(written)),
        **written,
    }


class ManifestDirectory:
    """A directory of files of a deployment. Files of others may be in it; they are never touched.

    Arguments:
        path: the directory, which need not exist.
        application: the name of the application.
        files: the texts of the files by name.

    Raises:
        ManifestError: a file with one of the names, or a file with the marker, is not what was written for the
            application.
        OSError: the directory cannot be read.
    """

    def __init__(self, path: Path, application: str, files: Mapping[str, str]) -> None:
        self.path = path
        self._files = {name: _marked(application, text) for name, text in files.items()}
        self._present = {
            name: text
            for file in (sorted(path.iterdir()) if path.exists() else ())
            if (text := _own(file, application, named=(name := file.name) in files)) is not None
        }

    def differences(self) -> tuple[Difference, ...]:
        """Return the files that writing would change, sorted by name."""
        names = sorted(self._files.keys() | self._present.keys())
        diffs = ((name, self._diff(name)) for name in names)
        return tuple(Difference(name, diff) for name, diff in diffs if diff)

    def _diff(self, name: str) -> str:
        old, new = (texts.get(name, "").splitlines(keepends=True) for texts in (self._present, self._files))
        before = f"{self.path}/{name}" if name in self._present else "/dev/null"
        after = f"{self.path}/{name}" if name in self._files else "/dev/null"
        return "".join(difflib.unified_diff(old, new, before, after))

    def write(self) -> dict[str, Effect]:
        """Write all files, or none if one of them cannot be written; return the effect on each.

        Raises:
            OSError: a file cannot be written.
        """
        changed = {name: text for name, text in self._files.items() if self._present.get(name) != text}
        self.path.mkdir(parents=True, exist_ok=True)
        _replace_all(self.path, changed)
        removed = [name for name in self._present if name not in self._files]
        for name in removed:
            (self.path / name).unlink()
        effects: dict[str, Effect] = {
            name: "unchanged" if name not in changed else "changed" if name in self._present else "created"
            for name in self._files
        }
        return {**effects, **dict.fromkeys(removed, "removed")}


def _marked(application: str, text: str) -> str:
    """Return a text with its first line, which has the checksum of the rest."""
    marker = (
        f"# Written by `flow manifests` for the application `{application}`, checksum {_checksum(text)}. "
        "Change settings or use kustomize, and write it again.\n"
    )
    return marker + text


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _own(file: Path, application: str, *, named: bool) -> str | None:
    """Return the text of a file that was written for the application; None for a file of others.

    Arguments:
        file: its path.
        application: the name of the application.
        named: whether a file with its name is to be written.

    Raises:
        ManifestError: it is a file of others with a name that is needed, or was changed by hand.
    """
    text = _text(file)
    marker = _MARKER.match(text) if text is not None else None
    if text is None or marker is None:
        if named:
            raise ManifestError(f"`{file}` was not written by `flow manifests`", "move it, or choose another directory")
        return None
    if marker["application"] != application:
        if named:
            raise ManifestError(
                f"`{file}` was written for the application `{marker['application']}`", "choose another directory"
            )
        return None
    if marker["checksum"] != _checksum(text[marker.end() :]):
        raise ManifestError(
            f"`{file}` was changed after it was written",
            "move the changes into the settings or a patch of kustomize, and delete the file",
        )
    return text


def _text(file: Path) -> str | None:
    """Return the content of a regular file in UTF-8; None for others, also for links."""
    if file.is_symlink() or not file.is_file():
        return None
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        return None


def _replace_all(directory: Path, texts: Mapping[str, str]) -> None:
    """Write files, each of them first under another name, so that a full disk leaves the old ones as they are."""
    drafts: dict[Path, Path] = {}
    try:
        for name, text in texts.items():
            handle, draft = tempfile.mkstemp(prefix=f".{name}.", dir=directory)
            drafts[Path(draft)] = directory / name
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode())
            Path(draft).chmod(0o644)
        for draft_path, file in drafts.items():
            draft_path.replace(file)
    finally:
        _remove(drafts)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
