"""Rules about the directories that streamlets write besides topics, such as those of file sinks."""

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
    directory: PurePath
    place: Span


def shared_directories(draft: Draft) -> Iterator[Diagnostic]:
    """No two streamlets write to the same directory, because a reader would read the files of both as one table."""
    by_parts: dict[tuple[str, ...], list[_Writer]] = defaultdict(list)
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        for written in descriptor.directories if descriptor is not None else ():
            directory = PurePath(os.path.normpath(written.directory))
            key = tuple(part.casefold() for part in directory.parts)
            by_parts[key].append(_Writer(ref, directory, parameter_place(draft, ref, written.parameter)))
    for key, writers in by_parts.items():
        if len(writers) > 1:
            yield _same_directory(writers)
        else:
            outer = next((key[:length] for length in range(len(key) - 1, 0, -1) if key[:length] in by_parts), None)
            if outer is not None:
                yield _nested_directories(writers[0], by_parts[outer][0])


def _same_directory(writers: list[_Writer]) -> Diagnostic:
    first, *others = writers
    same = len({writer.directory for writer in writers}) == 1
    both = "both" if len(writers) == 2 else "all"
    names = listing(writer.ref for writer in writers)
    return finding(
        "directory-shared",
        f"{names} write to the same directory" if same
        else f"{names} write to directories whose names differ only in case",
        Label(others[-1].place, f"the directory of `{others[-1].ref}`"),
        also=[Label(writer.place, f"the directory of `{writer.ref}`") for writer in (first, *others[:-1])],
        causes=(f"a reader of the directory reads the files of {both} as one table",)
        if same else ("some file systems treat them as the same directory",),
        help=("use a separate directory for each",),
        severity=None if same else Severity.WARNING,
    )  # fmt: skip


def _nested_directories(inner: _Writer, outer: _Writer) -> Diagnostic:
    return finding(
        "directory-shared",
        f"`{inner.ref}` writes inside the directory of `{outer.ref}`",
        Label(inner.place, f"the directory of `{inner.ref}`"),
        also=(Label(outer.place, f"the directory of `{outer.ref}`"),),
        causes=("a reader of the outer directory reads the inner one, too",),
        help=("use directories that do not contain each other",),
        severity=Severity.WARNING,
    )
