"""Rules about the directories that streamlets write besides topics, such as the outputs of file sinks."""

from __future__ import annotations

import os.path
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from blueprint.diagnostics import Diagnostic, Label, Severity, Span, finding
from blueprint.hocon.values import span_of
from blueprint.model.draft import Draft
from blueprint.settings.values import spark_scalars
from blueprint.spelling import listing
from blueprint.verification.rules.parameters import parameter_place

_CHECKPOINT_BASE = "spark.sql.streaming.checkpointLocation"


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory that an application writes.

    Arguments:
        ref: what writes it: a streamlet, or a query of one.
        streamlets: the streamlet that writes it, () for a setting of the application.
        path: its absolute path, with symbolic links resolved: two paths may be one directory.
        place: the place that sets it.
    """

    ref: str
    streamlets: tuple[str, ...]
    path: PurePath
    place: Span

    @property
    def key(self) -> tuple[str, ...]:
        """The directory without regard to case."""
        return tuple(part.casefold() for part in self.path.parts)


def shared_directories(draft: Draft) -> Iterator[Diagnostic]:
    """No two streamlets write to the same directory, because a reader would read the files of both as one table."""
    by_parts: dict[tuple[str, ...], list[Directory]] = defaultdict(list)
    for writer in written_directories(draft, checkpoints=False):
        by_parts[writer.key].append(writer)
    for key, writers in by_parts.items():
        if len(writers) > 1:
            yield _same_directory(writers)
        elif (outer := _outer(key, by_parts)) is not None:
            yield _nested_directories(writers[0], by_parts[outer][0])


def shared_checkpoints(draft: Draft) -> Iterator[Diagnostic]:
    """No two queries keep their checkpoints in one directory, or one inside the other's.

    Mistakes within one streamlet are reported with its statements.
    """
    by_parts: dict[tuple[str, ...], list[Directory]] = defaultdict(list)
    for writer in written_directories(draft, checkpoints=True):
        by_parts[writer.key].append(writer)
    for key, writers in by_parts.items():
        first, *others = writers
        for other in others:
            yield _shared_checkpoint(f"`{first.ref}` and `{other.ref}` have the same checkpoint", first, other)
        outer = _outer(key, by_parts) if not others else None
        if outer is not None:
            within = by_parts[outer][0]
            yield _shared_checkpoint(
                f"the checkpoint of `{first.ref}` is inside the checkpoint of `{within.ref}`", within, first
            )
    for base in checkpoint_bases(draft):
        outer = base.key if base.key in by_parts else _outer(base.key, by_parts)
        if outer is not None:
            yield _base_in_checkpoint(by_parts[outer][0], base)


def written_directories(draft: Draft, *, checkpoints: bool) -> Iterator[Directory]:
    """Yield the directories outside of topics that an application writes: outputs, or explicit checkpoints."""
    for ref, descriptor in draft.descriptors():
        for written in descriptor.external.directories:
            if written.checkpoint == checkpoints:
                name = f"{ref}.{written.query}" if written.query else ref
                place = written.place or parameter_place(draft, ref, written.parameter)
                yield Directory(name, (ref,), PurePath(os.path.realpath(written.directory)), place)


def checkpoint_bases(draft: Draft) -> Iterator[Directory]:
    """Yield Spark's setting for the parent of the checkpoints of queries without one of their own."""
    for path in (("runtimes", "spark"), *(("streamlets", ref, "spark") for ref in draft.blueprint.streamlets)):
        base = spark_scalars(draft.settings.get(*path)).get(_CHECKPOINT_BASE)
        if base is not None and base.text:
            directory = Path(draft.blueprint.directory).absolute() / base.text.removeprefix("file:")
            refs = path[1:2] if path[0] == "streamlets" else ()
            yield Directory(_CHECKPOINT_BASE, refs, PurePath(os.path.realpath(directory)), span_of(base))


def _outer(key: tuple[str, ...], by_parts: dict[tuple[str, ...], list[Directory]]) -> tuple[str, ...] | None:
    """Return the innermost directory of a writer that contains a directory; None if there is none."""
    return next((key[:length] for length in range(len(key) - 1, 0, -1) if key[:length] in by_parts), None)


def _same_directory(writers: list[Directory]) -> Diagnostic:
    first, *others = writers
    same = len({writer.path for writer in writers}) == 1
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
        streamlets=(ref for writer in writers for ref in writer.streamlets),
        severity=None if same else Severity.WARNING,
    )  # fmt: skip


def _nested_directories(inner: Directory, outer: Directory) -> Diagnostic:
    return finding(
        "directory-shared",
        f"`{inner.ref}` writes inside the directory of `{outer.ref}`",
        Label(inner.place, f"the directory of `{inner.ref}`"),
        also=(Label(outer.place, f"the directory of `{outer.ref}`"),),
        causes=("a reader of the outer directory reads the inner one, too",),
        help=("use directories that do not contain each other",),
        streamlets=inner.streamlets + outer.streamlets,
        severity=Severity.WARNING,
    )


def _shared_checkpoint(headline: str, other: Directory, writer: Directory) -> Diagnostic:
    return finding(
        "checkpoint-shared",
        headline,
        Label(writer.place, f"the checkpoint of `{writer.ref}`"),
        also=(Label(other.place, f"the checkpoint of `{other.ref}`"),),
        causes=("a checkpoint belongs to one query: the other one fails when it starts",)
        if writer.key == other.key else ("a reset of the outer checkpoint would delete the inner one, too",),
        help=("give each query a directory of its own, or omit `checkpointLocation`",),
        streamlets=writer.streamlets + other.streamlets,
    )  # fmt: skip


def _base_in_checkpoint(writer: Directory, base: Directory) -> Diagnostic:
    return finding(
        "checkpoint-shared",
        f"the checkpoint of `{writer.ref}` contains the checkpoints of queries without `checkpointLocation`",
        Label(writer.place, f"the checkpoint of `{writer.ref}`"),
        also=(Label(base.place, "the parent of the others"),),
        causes=("a reset of the outer checkpoint would delete the inner ones, too",),
        help=("choose another directory, or omit `checkpointLocation`",),
        streamlets=writer.streamlets + base.streamlets,
        severity=Severity.WARNING,
    )
