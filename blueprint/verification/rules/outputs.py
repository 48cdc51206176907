"""Rules about outputs next to what must not be mixed with them: checkpoints, state, and the files of sources."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from pathlib import Path, PurePath

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon import shown_name
from blueprint.model.draft import Draft
from blueprint.path_patterns import literal_parts, matches
from blueprint.plan import STATE_DIRECTORY
from blueprint.settings.values import application_settings
from blueprint.verification.rules.directories import Directory, checkpoint_bases, written_directories
from blueprint.verification.rules.parameters import parameter_place


def checkpoints_in_outputs(draft: Draft) -> Iterator[Diagnostic]:
    """No checkpoint is in the directory of an output, and no output in a checkpoint or in the state directory."""
    outputs = tuple(written_directories(draft, checkpoints=False))
    checkpoints = tuple(written_directories(draft, checkpoints=True))
    state = _state_directory(draft)
    for output in outputs:
        for checkpoint in checkpoints:
            whose = f"the checkpoint of `{checkpoint.ref}`"
            if checkpoint.path.is_relative_to(output.path):
                yield _around(output, f"{whose} is in the directory that `{output.ref}` writes", checkpoint, whose)
            elif output.path.is_relative_to(checkpoint.path):
                yield _inside(output, f"`{output.ref}` writes inside {whose}", checkpoint, whose)
        for base in checkpoint_bases(draft):
            if base.path.is_relative_to(output.path):
                headline = f"checkpoints of queries are in the directory that `{output.ref}` writes"
                yield _around(output, headline, base, "the parent of the checkpoints")
        if state.is_relative_to(output.path):
            yield _around(
                output,
                f"the state directory `{shown_name(Path(state))}` is in the directory that `{output.ref}` writes",
            )
        elif output.path.is_relative_to(state):
            yield _inside(output, f"`{output.ref}` writes inside the state directory `{shown_name(Path(state))}`")


def outputs_read(draft: Draft) -> Iterator[Diagnostic]:
    """No stream of files reads a directory that the application writes.

    A topic joins streamlets, and a loop of files has no end.
    """
    outputs = tuple(written_directories(draft, checkpoints=False))
    for ref, descriptor in draft.descriptors():
        for read in descriptor.external.reads:
            reader = f"the stream `{read.stream}` of `{ref}`" if read.stream else f"`{ref}`"
            path = _resolved(read.path)
            for output in outputs:
                if _reads(path, output.path, recursive=read.recursive):
                    yield finding(
                        "output-read",
                        f"`{output.ref}` writes to a directory that {reader} reads",
                        Label(output.place, f"the directory of `{output.ref}`"),
                        also=(Label(read.place or parameter_place(draft, ref, read.parameter), "read here"),),
                        causes=("records that the application writes become its input again",),
                        help=(
                            "write to another directory",
                            "to pass records from one streamlet to another, use a topic",
                        ),
                        streamlets=(*output.streamlets, ref),
                    )


def _state_directory(draft: Draft) -> PurePath:
    """Return the directory that belongs to the application.

    This is the state directory or, if `--state-dir` has chosen another place than `.flow`, the application's part of
    it.
    """
    directory = Path(draft.blueprint.directory).resolve()
    root = draft.state_root or directory / STATE_DIRECTORY
    name = application_settings(draft.settings).application or directory.name
    return PurePath(os.path.realpath(root if root.name == STATE_DIRECTORY else root / name))


def _around(output: Directory, headline: str, other: Directory | None = None, label: str = "") -> Diagnostic:
    return _mixed(output, headline, other, label, "readers of the directory would find files that are not data")


def _inside(output: Directory, headline: str, other: Directory | None = None, label: str = "") -> Diagnostic:
    return _mixed(output, headline, other, label, "a reset deletes everything there, the output included")


def _mixed(output: Directory, headline: str, other: Directory | None, label: str, cause: str) -> Diagnostic:
    return finding(
        "checkpoint-in-output",
        headline,
        Label(output.place, f"the directory of `{output.ref}`"),
        also=(Label(other.place, label),) if other is not None else (),
        causes=(cause,),
        help=("use directories that do not contain each other",),
        streamlets=(*output.streamlets, *(other.streamlets if other is not None else ())),
    )


def _resolved(pattern: str) -> PurePath:
    """Return a path with the symbolic links before its first pattern resolved."""
    path = PurePath(os.path.normpath(pattern))
    literal = literal_parts(path)
    return PurePath(os.path.realpath(PurePath(*path.parts[:literal])), *path.parts[literal:])


def _reads(source: PurePath, output: PurePath, *, recursive: bool) -> bool:
    """Return whether a stream of the files at a path reads files that are written to a directory.

    Spark reads the files of a directory itself, and those in directories of partitions below it.
    """
    depth = len(output.parts)
    if len(source.parts) > depth:  # files or partitions of the output
        first, *further = source.parts[depth:]
        files = not further and first.startswith(("*", "?", "[", "{"))
        return matches(PurePath(*source.parts[:depth]), output) and (files or "=" in first)
    below = output.parts[len(source.parts) :]
    within = matches(source, PurePath(*output.parts[: len(source.parts)]))
    return within and (recursive or all("=" in part for part in below))
