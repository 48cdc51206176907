"""Reads the blueprint's model from a configuration tree, with a finding for everything that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.blueprint import Blueprint, StreamletEntry
from blueprint.model.blueprint_files import SKELETON
from blueprint.model.cycle_stops import cycle_stops
from blueprint.model.findings import dotted_span, misspelt_key, unknown_key, wrong_type
from blueprint.model.topics import TopicReader
from blueprint.spelling import near

_SECTIONS = ("streamlets", "topics", "allow-cycles")


def load(root: Value, file: str, directory: str) -> tuple[Blueprint, list[Diagnostic]]:
    """Read the model from a resolved tree.

    Arguments:
        root: the tree.
        file: the blueprint's name in findings.
        directory: the blueprint's directory.
    """
    reader = _Reader(file)
    blueprint = reader.section(root, "blueprint", whole=_start(file))
    if blueprint is None:
        return Blueprint(file=file, directory=directory, streamlets={}, topics={}), reader.findings
    settings = root.fields.get("flow") if isinstance(root, ObjectValue) else None
    fields = reader.recovered(blueprint, _SECTIONS, "the blueprint", passed=("connections",))
    streamlets = reader.streamlets(blueprint, fields.get("streamlets"))
    connections = blueprint.fields.get("connections")
    topics = TopicReader(file, reader.add)
    entries = topics.topics(fields.get("topics"))
    stops, unread = cycle_stops(fields.get("allow-cycles"))
    reader.findings += unread
    return (
        Blueprint(
            file=file,
            directory=directory,
            streamlets=streamlets,
            topics=entries,
            cycle_stops=stops,
            settings=settings if isinstance(settings, ObjectValue) else None,
            connections=connections,
            topics_broken=reader.topics_broken or topics.broken or connections is not None,
            broken=frozenset(reader.broken),
            twice=frozenset(reader.twice),
        ),
        reader.findings,
    )


def _start(file: str) -> Span:
    return Span(file, 1, 1, 1, 1)


class _Reader:
    """Reads sections, collects findings, and continues after a mistake with what was probably meant."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Diagnostic] = []
        self.broken: set[str] = set()
        self.twice: set[str] = set()
        self.topics_broken = False

    def add(self, diagnostic: Diagnostic) -> None:
        """Collect a finding."""
        self.findings.append(diagnostic)

    def section(self, root: Value, name: str, *, whole: Span) -> ObjectValue | None:
        """Return the object `name` of the root; a misspelt key is reported and its value used.

        Arguments:
            root: the tree.
            name: of the section.
            whole: the place of the finding that the section is missing.
        """
        fields = root.fields if isinstance(root, ObjectValue) else {}
        value = fields.get(name)
        if value is None:
            close = [key for key in near(name, fields) if isinstance(fields[key], ObjectValue)]
            if close:
                key = close[0]
                known = (name,) if len(close) == 1 else ()
                self.add(misspelt_key(fields[key], key, name, "the file", known))
                value = fields[key]
        if value is None:
            self.add(
                finding(
                    "blueprint-section-missing",
                    f"the file has no section `{name}`",
                    whole,
                    help=(f"a blueprint looks like this:\n{SKELETON}",),
                )
            )
        elif not isinstance(value, ObjectValue):
            self.add(wrong_type(value, f"`{name}`", "an object"))
        return value if isinstance(value, ObjectValue) else None

    def recovered(
        self, block: ObjectValue, known: tuple[str, ...], where: str, *, passed: Iterable[str] = ()
    ) -> dict[str, Value]:
        """Return the known fields of a block; unknown keys are reported, and the values of misspelt ones used.

        Arguments:
            block: the object.
            known: its valid keys.
            where: the block as the subject of a sentence.
            passed: keys that are not reported, because another reader handles them.
        """
        fields = {key: value for key, value in block.fields.items() if key in known}
        for key, value in block.fields.items():
            if key in known or key in passed:
                continue
            close = near(key, [name for name in known if name not in fields])
            if close:
                self.add(misspelt_key(value, key, close[0], where, known))
                fields[close[0]] = value
            else:
                self.add(unknown_key(value, key, known, where))
        return fields

    def streamlets(self, blueprint: ObjectValue, section: Value | None) -> dict[str, StreamletEntry]:
        """Return the streamlets that can be read; the names of the others are added to `broken`."""
        if section is not None and not isinstance(section, ObjectValue):
            self.add(wrong_type(section, "`streamlets`", "an object of names and classes"))
            self.topics_broken = True
            return {}
        if section is None or not section.fields:
            fault = "is empty" if section is not None else "is missing"
            self.add(
                finding(
                    "blueprint-section-missing",
                    f"the section `streamlets` of the blueprint {fault}",
                    key_span_of(section if section is not None else blueprint),
                    help=(f"a blueprint looks like this:\n{SKELETON}",),
                )
            )
            self.topics_broken = True
            return {}
        entries = {}
        for ref, value in section.fields.items():
            before = len(self.findings)
            entry = self._streamlet(ref, value)
            self.findings[before:] = [found.about(("streamlets", ref)) for found in self.findings[before:]]
            if entry is not None:
                entries[ref] = entry
            else:
                self.broken.add(ref)
        return entries

    def _streamlet(self, ref: str, value: Value) -> StreamletEntry | None:
        if isinstance(value, Scalar) and isinstance(value.value, str):
            if self._report_duplicate(ref, value):
                return None
            return StreamletEntry(ref, key_span_of(value), value.text, span_of(value))
        if not isinstance(value, ObjectValue):
            self.add(wrong_type(value, f"the streamlet `{ref}`", "a class path or an object with `class`"))
            return None
        return self._streamlet_block(ref, value)

    def _streamlet_block(self, ref: str, block: ObjectValue) -> StreamletEntry | None:
        name = block.fields.get("class")
        rest = {key: value for key, value in block.fields.items() if key != "class"}
        if name is None and (dotted := _dotted_streamlet(ref, block)) is not None:
            self.add(dotted)
            self.broken.update(f"{ref}.{key}" for key in block.fields)
            return None
        if name is None:
            close = [key for key in near("class", rest) if isinstance(rest[key], Scalar)]
            if not close:
                self.add(
                    finding(
                        "class-path",
                        f"the streamlet `{ref}` has no class",
                        key_span_of(block),
                        help=(f"write `{ref} {{ class = my_module.MyStreamlet, ... }}`",),
                    )
                )
                return None
            name = rest.pop(close[0])
            known = ("class",) if len(close) == 1 else ()
            self.add(misspelt_key(name, close[0], "class", f"the streamlet `{ref}`", known))
        if not (isinstance(name, Scalar) and isinstance(name.value, str)):
            self.add(wrong_type(name, f"the class of `{ref}`", "a class path"))
            return None
        if self._report_duplicate(ref, name):
            return None
        settings = ObjectValue(rest, block.origins)
        return StreamletEntry(ref, key_span_of(block), name.text, span_of(name), settings)

    def _report_duplicate(self, ref: str, name: Scalar) -> bool:
        """Report a streamlet to which one file gives two classes, and return whether it is one.

        Such a streamlet is two streamlets with the same name, and HOCON would use the last one.
        """
        places = [origin for origin in name.origins if origin.via is None and origin.span.file == self.file]
        if len(places) < 2:
            return False
        self.twice.add(ref)
        first, second = (origin.key or origin.span for origin in places[-2:])
        self.add(
            finding(
                "streamlet-twice",
                f"duplicate streamlet name `{ref}`",
                second,
                label="this streamlet would replace the first one",
                also=(Label(first, "first defined here"),),
                help=("rename one of them",),
            )
        )
        return True


def _dotted_streamlet(ref: str, block: ObjectValue) -> Diagnostic | None:
    """Return the finding for `a.b = my.Class`, which HOCON reads as `b` inside `a`; None for other blocks."""
    for key, value in block.fields.items():
        span = dotted_span(block, value)
        if span is not None:
            dotted = f"{ref}.{key}"
            return finding(
                "streamlet-name",
                f"invalid streamlet name `{dotted}`",
                span,
                label="a name must not contain dots",
                help=(f"did you mean `{dotted.replace('.', '-')}`?",),
            )
    return None
