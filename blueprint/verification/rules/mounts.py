"""Rules about volume mounts: their declarations, and the directories set for them. Source: Cloudflow's checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from blueprint.catalog import StreamletDescriptor, VolumeMountDescriptor
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.values import Scalar, is_null, key_span_of, span_of
from blueprint.model.draft import Draft
from blueprint.spelling import alternatives, near
from blueprint.verification.rules.names import dns_label_fault


def mount_declarations(draft: Draft) -> Iterator[Diagnostic]:
    """Names are DNS labels, paths are absolute and without `..`, and both are unique; reported once for each class."""
    for descriptor, refs in draft.classes():
        yield from (replace(found, streamlets=refs) for found in _declarations(descriptor))


def _declarations(descriptor: StreamletDescriptor) -> Iterator[Diagnostic]:
    names: dict[str, VolumeMountDescriptor] = {}
    paths: dict[str, VolumeMountDescriptor] = {}
    for mount in sorted(descriptor.volume_mounts, key=lambda mount: mount.declared):
        other = names.get(mount.name) or paths.get(mount.path)
        shared = f"the name `{mount.name}`" if mount.name in names else f"the path `{mount.path}`"
        faults = [fault for fault in (dns_label_fault(mount.name), _path_fault(mount.path)) if fault]
        if other is not None:
            yield finding(
                "volume-mount",
                f"`{descriptor.class_name}` has two volume mounts with {shared}",
                mount.declared,
                also=(Label(other.declared, "first declared here"),),
            )
        elif faults:
            subject = f"the name `{mount.name}`" if dns_label_fault(mount.name) else f"the path `{mount.path}`"
            yield finding(
                "volume-mount",
                f"invalid volume mount `{mount.name}`",
                mount.declared,
                causes=(f"{subject} {faults[0]}",),
            )
        names.setdefault(mount.name, mount)
        paths.setdefault(mount.path, mount)


def _path_fault(path: str) -> str | None:
    if not path:
        return "is empty"
    if ".." in PurePosixPath(path).parts:
        return "must not contain `..`"
    return None if path.startswith("/") else "is not absolute"


def mount_directories(draft: Draft) -> Iterator[Diagnostic]:
    """Directories are set for volume mounts that exist, and as paths."""
    for ref, descriptor in draft.descriptors():
        names = [mount.name for mount in descriptor.volume_mounts]
        for name, value in draft.section(ref, "volume-mounts").items():
            if name not in names:
                close = near(name, names)
                yield finding(
                    "unknown-volume-mount",
                    f"`{ref}` has no volume mount `{name}`",
                    key_span_of(value),
                    also=(Label(descriptor.declared, "the class"),),
                    help=(f"did you mean {alternatives(close)}?",) if close else (),
                    streamlets=(ref,),
                )
            elif not (isinstance(value, Scalar) and isinstance(value.value, str)) and not is_null(value):
                yield finding(
                    "wrong-type",
                    f"the volume mount `{name}` of `{ref}` must be the path of a directory",
                    span_of(value),
                    streamlets=(ref,),
                )


def missing_mounts(draft: Draft) -> Iterator[Diagnostic]:
    """The declared path of a mount exists if no directory is set for it.

    Misspelt names are reported by `mount_directories`.
    """
    for ref, descriptor in draft.descriptors():
        directories = draft.section(ref, "volume-mounts")
        strays = [name for name in directories if name not in {mount.name for mount in descriptor.volume_mounts}]
        for mount in descriptor.volume_mounts:
            if mount.name in directories and not is_null(directories[mount.name]):
                continue
            if not _path_fault(mount.path) and not Path(mount.path).is_dir() and not near(mount.name, strays):
                yield finding(
                    "volume-mount-missing",
                    f"no directory is set for the volume mount `{mount.name}` of `{ref}`",
                    draft.blueprint.streamlets[ref].key,
                    also=(Label(mount.declared, "declared here"),),
                    causes=(f"the directory `{mount.path}` of its declaration does not exist on this machine",),
                    help=(f"write `volume-mounts {{ {mount.name} = some/directory }}` in the block of `{ref}`",),
                    streamlets=(ref,),
                )
