"""Rules about the folders outside of topics that streamlets write, such as those of file sinks."""

from __future__ import annotations

import os.path
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from blueprint.diagnostics import Diagnostic, Label, Severity, Span, finding
from blueprint.model.draft import Draft
from blueprint.spelling import listing
from blueprint.verification.rules.parameters import parameter_place


@dataclass(frozen=True, slots=True)
class _Writer:
    ref: str
    folder: PurePath
    place: Span


def shared_directories(draft: Draft) -> Iterator[Diagnostic]:
    """No two streamlets write one folder: whoever reads it takes the files of both for one table."""
    alike: dict[tuple[str, ...], list[_Writer]] = defaultdict(list)
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        for written in descriptor.folders if descriptor is not None else ():
            folder = PurePath(os.path.normpath(written.folder))
            key = tuple(part.casefold() for part in folder.parts)
            alike[key].append(_Writer(ref, folder, parameter_place(draft, ref, written.parameter)))
    for key, writers in alike.items():
        if len(writers) > 1:
            yield _one_folder(writers)
        else:
            above = next((key[:length] for length in range(len(key) - 1, 0, -1) if key[:length] in alike), None)
            if above is not None:
                yield _below(writers[0], alike[above][0])


def _one_folder(writers: list[_Writer]) -> Diagnostic:
    first, *others = writers
    same = len({writer.folder for writer in writers}) == 1
    both = "both" if len(writers) == 2 else "all"
    names = listing(writer.ref for writer in writers)
    return finding(
        "folder-shared",
        f"{names} write one folder" if same else f"{names} write folders whose names differ only in case",
        Label(others[-1].place, f"`{others[-1].ref}` writes there"),
        also=[Label(writer.place, f"and `{writer.ref}`") for writer in (first, *others[:-1])],
        causes=(f"whoever reads the folder takes the files of {both} for one table",)
        if same else ("some file systems take them for one",),
        help=("give each a folder of its own",),
        severity=None if same else Severity.WARNING,
    )  # fmt: skip


def _below(inner: _Writer, outer: _Writer) -> Diagnostic:
    return finding(
        "folder-shared",
        f"`{inner.ref}` writes inside the folder that `{outer.ref}` writes",
        Label(inner.place, "a folder below"),
        also=(Label(outer.place, f"this one of `{outer.ref}`"),),
        causes=("whoever reads the outer folder reads the inner one, too",),
        help=("put them side by side",),
        severity=Severity.WARNING,
    )
