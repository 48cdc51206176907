"""From what an author gives as a schema to a `Contract`, or to findings with their places."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blueprint.avro.canonical import contract_of
from blueprint.avro.model import Contract, Record
from blueprint.avro.parsing import Parser
from blueprint.avro.places import shown_path, value_at
from blueprint.diagnostics import Diagnostic, Label, Severity, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import Value, span_of

SchemaSource = str | Path | dict[str, object] | list[object] | type
"""A path to an `.avsc` file, Avro JSON as text or data, Spark DDL text, or a dataclass."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a schema.

    Arguments:
        contract: None when there is an error among the problems.
        problems: errors and warnings, by place.
    """

    contract: Contract | None
    problems: tuple[Diagnostic, ...] = ()


def load_contract(source: object, *, base_folder: Path | str, declared: Span) -> Loaded:
    """Load the schema of a port. Never raises for what a user wrote.

    Arguments:
        source: one of `SchemaSource`. Text is a path when it ends with `.avsc` or `.json`, Avro JSON when it begins
            with a brace or bracket, else Spark DDL.
        base_folder: where relative paths start, and where the files of named types are looked for when the schema
            itself is in no file. A schema in a file looks beside that file: the type `a.B` in `a.B.avsc`.
        declared: where the port is declared: the place of findings in schemas that have no places of their own.
    """
    try:
        return _load(source, Path(base_folder), declared)
    except RecursionError:
        return _refused("schema-no-schema", "the schema is nested too deeply to be read", declared)


def _load(source: object, folder: Path, declared: Span) -> Loaded:
    match source:
        case Path():
            return _from_file(folder / source, declared)
        case str() if source.strip().endswith((".avsc", ".json")) and not source.lstrip().startswith(("{", "[")):
            return _from_file(folder / source.strip(), declared)
        case str() if source.lstrip().startswith(("{", "[")):
            return _from_json(source, folder, declared)
        case str():
            return _from_ddl(source, folder, declared)
        case dict() | list():
            return _from_data(source, folder, declared)
        case type() if dataclasses.is_dataclass(source):
            return _from_dataclass(source, folder, declared)
    return _refused(
        "schema-no-schema",
        f"{_shown(source)} is no schema",
        declared,
        help=["give the path of an `.avsc` file, a dataclass, Avro JSON, or columns: `src string, ts timestamp`"],
    )


def parse_contract(text: str) -> Contract:
    """The contract of a JSON text that travelled with records (`Contract.json`).

    Raises ValueError for text that is no valid schema of a record; that text is then not ours.
    """
    span = Span("<schema>", 1, 1, 1, 1)
    try:
        loaded = _from_json(text, None, span)
    except RecursionError as error:
        raise ValueError("the schema is nested too deeply to be read") from error
    if loaded.contract is None:
        raise ValueError("; ".join(problem.headline for problem in loaded.problems))
    return loaded.contract


def _from_file(path: Path, declared: Span) -> Loaded:
    read = _read(path, declared)
    if isinstance(read, Diagnostic):
        return Loaded(None, (read,))
    value, problems = read
    if value is None:
        return Loaded(None, problems)
    loaded = _parsed(value, path.parent, shown_path(path))
    return Loaded(None if problems else loaded.contract, (*problems, *loaded.problems))


def _read(path: Path, at: Span) -> Diagnostic | tuple[Value | None, tuple[Diagnostic, ...]]:
    """The values of a schema file and its syntax errors, or why it cannot be read, said at `at`."""
    from blueprint.hocon.strict_json import parse_json

    shown = shown_path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return finding("schema-not-found", f"there is no schema file `{shown}`", at, help=_near_files(path))
    except UnicodeDecodeError:
        return finding("schema-unreadable", f"the schema file `{shown}` is no UTF-8 text", at)
    except IsADirectoryError:
        return finding("schema-unreadable", f"the schema file `{shown}` cannot be read: it is a folder", at)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return finding("schema-unreadable", f"the schema file `{shown}` cannot be read: {reason}", at)
    if not text.strip():
        return finding("schema-unreadable", f"the schema file `{shown}` is empty", at)
    value, problems = parse_json(text, shown)
    return value, tuple(problems)


def _near_files(path: Path) -> list[str]:
    import difflib

    try:
        names = {other.stem: other.name for other in path.parent.iterdir() if other.suffix == path.suffix}
    except OSError:
        return [f"there is no folder `{shown_path(path.parent)}` either"]
    near = difflib.get_close_matches(path.stem, names, n=1)
    return [f"did you mean `{shown_path(path.with_name(names[near[0]]))}`?"] if near else []


def _from_json(text: str, folder: Path | None, declared: Span) -> Loaded:
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except _TwiceError as error:
        headline = f"the key `{error}` stands twice in one object of the schema"
        return _refused("duplicate-key", headline, declared, help=["keep one of the two"])
    except ValueError as error:
        return _refused("schema-syntax", f"the schema is no JSON: {error}", declared)
    return _from_data(data, folder, declared)


class _TwiceError(ValueError):
    """An object of JSON text has this key twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _from_data(data: object, folder: Path | None, declared: Span) -> Loaded:
    try:
        value = value_at(data, declared)
    except TypeError as error:
        return _refused("schema-no-schema", f"the schema holds {error}", declared)
    return _parsed(value, folder, None)


def _from_ddl(text: str, folder: Path, declared: Span) -> Loaded:
    from blueprint.avro.ddl import DdlError, schema_of_ddl

    try:
        return _from_data(schema_of_ddl(text.strip()), folder, declared)
    except DdlError as error:
        causes = [f"at character {error.column} of `{text.strip()}`"]
        advice = [error.advice] if error.advice else []
        return _refused("schema-ddl", f"the schema's columns cannot be read: {error}", declared, causes, advice)


def _from_dataclass(source: type, folder: Path, declared: Span) -> Loaded:
    from blueprint.avro.dataclass_schema import schema_of_dataclass

    value, problems, file = schema_of_dataclass(source, declared)
    loaded = _parsed(value, folder, file)
    refused = any(problem.severity is Severity.ERROR for problem in problems)
    return Loaded(None if refused else loaded.contract, (*problems, *loaded.problems))


def _parsed(value: Value, folder: Path | None, file: str | None) -> Loaded:
    parser = Parser(files=_beside(folder, span_of(value)) if folder else lambda name: None)
    schema = parser.parse(value)
    problems = sorted(parser.problems, key=lambda problem: problem.sort_key)
    refused = any(problem.severity is Severity.ERROR for problem in problems)
    if schema is not None and not isinstance(schema, Record) and not refused:
        headline = "the schema of a port is a record, and this is none"
        problems.append(finding("schema-not-a-record", headline, span_of(value)))
        refused = True
    contract = contract_of(schema, file) if isinstance(schema, Record) and not refused else None
    return Loaded(contract, tuple(problems))


def _beside(folder: Path, at: Span) -> Callable[[str], Value | Diagnostic | None]:
    """Looks a full name up as `<name>.avsc` in a folder; a file is read once."""

    def look_up(name: str) -> Value | Diagnostic | None:
        path = folder / f"{name}.avsc"
        if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name too long to exist
            return None
        read = _read(path, at)
        if isinstance(read, Diagnostic):
            return read
        value, problems = read
        return problems[0] if value is None or problems else value

    return look_up


def _refused(
    code: str, headline: str, at: Span | Label, causes: list[str] | None = None, help: list[str] | None = None
) -> Loaded:
    return Loaded(None, (finding(code, headline, at, causes=causes or (), help=help or ()),))


def _shown(source: object) -> str:
    if isinstance(source, type):
        return f"the class `{source.__qualname__}`, which is no dataclass,"
    text = repr(source)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
