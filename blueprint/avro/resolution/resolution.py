"""`compared`: the reasons why a reader cannot read every record of a writer.

The rules follow the Avro specification 1.12, "Schema Resolution", and apply to every record that the writer's schema
allows. In addition there are warnings about pairs that the specification allows, but that may be unexpected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from blueprint.avro.model import (
    Array,
    Contract,
    Definition,
    Enum,
    Field,
    Fixed,
    Logical,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    is_unnamed,
    namespace_of,
    type_text,
)
from blueprint.avro.resolution.matching import choose_branch, field_in, names_match, promotes, same_kind
from blueprint.avro.resolution.places import Place
from blueprint.avro.resolution.reasons import WARNINGS, Reason, Resolution, Rule
from blueprint.diagnostics import Severity
from blueprint.wording import counted


def compared(writer: Contract, reader: Contract) -> Resolution:
    """Return every reason why the reader cannot read some records of the writer, and every warning.

    A named type that is used in several places is compared once per pair of names, at its first place, so that one
    mistake gives one reason.
    """
    walk = _Walk(writer, reader)
    walk.compare(writer.record, reader.record, _At("", None, None))
    return Resolution(tuple(walk.reasons))


@dataclass(frozen=True, slots=True)
class _At:
    """The current place in both schemas."""

    path: str
    writer: Place | None
    reader: Place | None

    def both(self, step: str, mark: str) -> _At:
        assert self.writer and self.reader  # the root is always a record
        return _At(self.path + mark, self.writer.inside(step), self.reader.inside(step))

    def writer_branch(self, number: int, mark: str) -> _At:
        assert self.writer
        return replace(self, path=self.path + mark, writer=self.writer.inside(number))

    def reader_branch(self, number: int) -> _At:
        assert self.reader
        return replace(self, reader=self.reader.inside(number))

    def field(self, writer: Record, source: Field, reader: Record, wanted: Field) -> _At:
        path = f"{self.path}.{wanted.name}" if self.path else wanted.name
        return _At(path, Place(writer.name, source.name), Place(reader.name, wanted.name))


@dataclass(slots=True)
class _Walk:
    """One comparison of two contracts."""

    writer: Contract
    reader: Contract
    reasons: list[Reason] = field(default_factory=list)
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def compare(self, writer: Schema, reader: Schema, at: _At, *, branch: bool = False) -> None:
        """Compare two types.

        Arguments:
            writer: the writer's type.
            reader: the reader's type.
            at: their place.
            branch: whether the writer's type is a branch of a union, and the reader's is not a union.
        """
        written, read = self.writer.resolve(writer), self.reader.resolve(reader)
        if isinstance(written, Union):
            self._from_union(written, reader, at)
        elif isinstance(read, Union):
            self._into_union(written, read, at)
        elif isinstance(written, Primitive) and isinstance(read, Primitive):
            self._primitives(written, read, at, branch=branch)
        elif not same_kind(written, read):
            self._types_differ(written, read, at, branch=branch)
        elif isinstance(written, Array) and isinstance(read, Array):
            self.compare(written.items, read.items, at.both("items", "[]"))
        elif isinstance(written, Map) and isinstance(read, Map):
            self.compare(written.values, read.values, at.both("values", "{}"))
        elif isinstance(written, Record | Enum | Fixed) and isinstance(read, Record | Enum | Fixed):
            self._definitions(written, read, at)

    def _from_union(self, written: Union, reader: Schema, at: _At) -> None:
        several = sum(not _is_null(branch) for branch in written.branches) > 1
        alone = not isinstance(self.reader.resolve(reader), Union)
        for number, branch in enumerate(written.branches):
            mark = f"<{_branch_text(self.writer.resolve(branch))}>" if several and not _is_null(branch) else ""
            self.compare(branch, reader, at.writer_branch(number, mark), branch=alone)

    def _into_union(self, written: Schema, read: Union, at: _At) -> None:
        number = choose_branch(written, read, self.reader)
        if number is not None:
            self.compare(written, read.branches[number], at.reader_branch(number))
            return
        message = f"no branch of the reader's union accepts the writer's `{type_text(written)}`"
        self._add(Rule.NO_BRANCH, written, read, at, message)

    def _types_differ(self, written: Schema, read: Schema, at: _At, *, branch: bool) -> None:
        verb = "may write" if branch else "has"
        message = f"the writer {verb} `{type_text(written)}`, the reader expects `{type_text(read)}`"
        self._add(Rule.BRANCH_NOT_READ if branch else Rule.TYPES_DIFFER, written, read, at, message)

    def _primitives(self, written: Primitive, read: Primitive, at: _At, *, branch: bool) -> None:
        if written.type != read.type and not promotes(written, read):
            self._types_differ(written, read, at, branch=branch)
            return
        if (written.type, read.type) == ("bytes", "string"):
            message = (
                "the writer has `bytes`, the reader expects `string`: bytes that are not valid UTF-8 cannot be read"
            )
            self._add(Rule.BYTES_AS_STRING, written, read, at, message)
        elif (written.type, read.type) in (("int", "float"), ("long", "float"), ("long", "double")):
            message = f"the writer has `{written.type}`, the reader expects `{read.type}`, which rounds large numbers"
            self._add(Rule.PRECISION_LOST, written, read, at, message)
        self._logical(written, read, at)

    def _logical(self, written: Primitive | Fixed, read: Primitive | Fixed, at: _At) -> None:
        old, new = written.logical, read.logical
        if old == new:
            return
        if old and new and old.name == new.name == "decimal":
            if (old.precision, old.scale or 0) != (new.precision, new.scale or 0):
                message = f"the writer has {_decimal_text(old)}, the reader expects {_decimal_text(new)}"
                self._add(Rule.DECIMALS_DIFFER, written, read, at, message)
            return
        message = f"the writer has `{type_text(written)}`, the reader expects `{type_text(read)}`"
        self._add(Rule.LOGICAL_TYPES_DIFFER, written, read, at, message)

    def _definitions(self, written: Definition, read: Definition, at: _At) -> None:
        if (written.name, read.name) in self._seen:
            return
        self._seen.add((written.name, read.name))
        if not names_match(written, read):
            message = f"the writer's `{written.name}` is not the reader's `{read.name}`"
            self._add(Rule.NAMES_DIFFER, written, read, at, message)
        elif _namespaces_differ(written, read):
            message = f"the writer's `{written.name}` is read as `{read.name}`, which is in another namespace"
            self._add(Rule.NAMESPACES_DIFFER, written, read, at, message)
        if isinstance(written, Record) and isinstance(read, Record):
            self._records(written, read, at)
        elif isinstance(written, Enum) and isinstance(read, Enum):
            self._enums(written, read, at)
        elif isinstance(written, Fixed) and isinstance(read, Fixed):
            if written.size != read.size:
                message = f"the writer's `{written.name}` has {counted(written.size, 'byte')}, the reader's {read.size}"
                self._add(Rule.SIZES_DIFFER, written, read, at, message)
            self._logical(written, read, at)

    def _records(self, written: Record, read: Record, at: _At) -> None:
        for wanted in read.fields:
            source = field_in(written, wanted)
            if source is not None:
                here = at.field(written, source, read, wanted)
                self._other_names(written, source, wanted, here)
                self.compare(source.schema, wanted.schema, here)
            elif not wanted.has_default:
                self._field_missing(written, read, wanted, at)

    def _other_names(self, written: Record, source: Field, wanted: Field, at: _At) -> None:
        """Report a reader's field that matches several fields of the writer, which Java's Avro rejects."""
        names = {field.name for field in written.fields}
        others = [f"`{alias}`" for alias in wanted.aliases if alias in names and alias != source.name]
        if others:
            ignored = ", ".join(others)
            message = f"the reader takes the writer's `{source.name}` and ignores {ignored}, an alias of the same field"
            self._add(Rule.NAME_AND_ALIAS, source.schema, wanted.schema, at, message)

    def _field_missing(self, written: Record, read: Record, wanted: Field, at: _At) -> None:
        self.reasons.append(
            Reason(
                path=f"{at.path}.{wanted.name}" if at.path else wanted.name,
                rule=Rule.FIELD_WITHOUT_DEFAULT,
                writer_type="",
                reader_type=type_text(self.reader.resolve(wanted.schema)),
                severity=Severity.ERROR,
                message=f"the writer has no field `{wanted.name}`, and the reader has no default for it",
                writer_span=written.span,
                reader_span=wanted.span,
                writer_place=at.writer,
                reader_place=Place(read.name, wanted.name),
                writer_name=written.name,
                reader_name=read.name,
            )
        )

    def _enums(self, written: Enum, read: Enum, at: _At) -> None:
        missing = [symbol for symbol in written.symbols if symbol not in read.symbols]
        if missing and read.default is None:
            listed = ", ".join(f"`{symbol}`" for symbol in missing)
            message = f"the reader's `{read.name}` does not have the writer's {listed}, and has no default"
            self._add(Rule.SYMBOLS_MISSING, written, read, at, message)

    def _add(self, rule: Rule, written: Schema, read: Schema, at: _At, message: str) -> None:
        named = (Record, Enum, Fixed)
        self.reasons.append(
            Reason(
                path=at.path,
                rule=rule,
                writer_type=type_text(written),
                reader_type=type_text(read),
                severity=Severity.WARNING if rule in WARNINGS else Severity.ERROR,
                message=message,
                writer_span=written.span,
                reader_span=read.span,
                writer_place=at.writer,
                reader_place=at.reader,
                writer_name=written.name if isinstance(written, named) else "",
                reader_name=read.name if isinstance(read, named) else "",
            )
        )


def _is_null(schema: Schema) -> bool:
    return isinstance(schema, Primitive) and schema.type == "null"


def _branch_text(schema: Schema) -> str:
    """Return the name of a branch in a path: the name of a named type, otherwise the type."""
    match schema:
        case Record() | Enum() | Fixed():
            return schema.name
        case Primitive():
            return schema.type
    return type(schema).__name__.lower()


def _namespaces_differ(written: Definition, read: Definition) -> bool:
    """Return whether the types are in different namespaces, and no alias declares this as intended."""
    if is_unnamed(written.name) or is_unnamed(read.name) or written.name in read.aliases:
        return False
    old, new = namespace_of(written.name), namespace_of(read.name)
    return bool(old and new) and old != new


def _decimal_text(logical: Logical) -> str:
    return f"`decimal({logical.precision}, {logical.scale or 0})`"
