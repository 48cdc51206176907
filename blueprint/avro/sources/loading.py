"""Loading of a port's schema: from any of its forms to a `Contract`, or to findings with their locations."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blueprint.avro.canonical import contract_of
from blueprint.avro.model import Contract, Record, type_text
from blueprint.avro.sources.parsing import Parser
from blueprint.avro.sources.places import shown_path, value_at
from blueprint.diagnostics import Diagnostic, Label, Severity, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import Value, span_of

SchemaSource = str | Path | dict[str, object] | list[object] | type
"""A path to an `.avsc` file, Avro JSON as text or data, Spark DDL text, or a dataclass."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading a schema.

    Arguments:
        contract: None when there is an error among the problems.
        problems: errors and warnings, by location.
    """

    contract: Contract | None
    problems: tuple[Diagnostic, ...] = ()


def load_contract(source: object, *, base_directory: Path | str, declared: Span) -> Loaded:
    """Load the schema of a port. Errors of the user are findings, not exceptions.

    Arguments:
        source: one of `SchemaSource`. A string is a path if it ends with `.avsc` or `.json`, Avro JSON if it starts
            with a brace or bracket, and Spark DDL otherwise.
        base_directory: the directory of relative paths, and of the files of named types if the schema itself is not in
            a file. For a schema in a file, these are next to that file: the type `a.B` in `a.B.avsc`.
        declared: where the port is declared: the location of findings in schemas without locations.
    """
    try:
        return _load(source, Path(base_directory), declared)
    except RecursionError:
        return _failure("schema-no-schema", "the schema is nested too deeply", declared)


def _load(source: object, directory: Path, declared: Span) -> Loaded:
    match source:
        case Path():
            return _from_file(directory / source, declared)
        case str() if source.strip().endswith((".avsc", ".json")) and not source.lstrip().startswith(("{", "[")):
            return _from_file(directory / source.strip(), declared)
        case str() if source.lstrip().startswith(("{", "[")):
            return _from_json(source, directory, declared)
        case str():
            return _from_ddl(source, directory, declared)
        case dict() | list():
            return _from_data(source, directory, declared)
        case type() if dataclasses.is_dataclass(source):
            return _from_dataclass(source, directory, declared)
    return _failure(
        "schema-no-schema",
        f"{_shown(source)} is not a schema",
        declared,
        help=["use the path of an `.avsc` file, a dataclass, Avro JSON, or columns such as `src string, ts timestamp`"],
    )


def parse_contract(text: str) -> Contract:
    """Return the contract of a JSON text that was stored with records (`Contract.json`).

    Raises:
        ValueError: the text is not a valid record schema, so it was not written by Streamlets.
    """
    span = Span("<schema>", 1, 1, 1, 1)
    try:
        loaded = _from_json(text, None, span)
    except RecursionError as error:
        raise ValueError("the schema is nested too deeply") from error
    if loaded.contract is None:
        raise ValueError("; ".join(problem.headline for problem in loaded.problems))
    return loaded.contract


def _from_file(path: Path, declared: Span) -> Loaded:
    content = _read(path, declared)
    if isinstance(content, Diagnostic):
        return Loaded(None, (content,))
    value, problems = content
    if value is None:
        return Loaded(None, problems)
    loaded = _parsed(value, path.parent, shown_path(path))
    return Loaded(None if problems else loaded.contract, (*problems, *loaded.problems))


def _read(path: Path, at: Span) -> Diagnostic | tuple[Value | None, tuple[Diagnostic, ...]]:
    """Return the value of a schema file and its syntax errors, or a finding at `at` if it cannot be read."""
    from blueprint.hocon.strict_json import parse_json

    shown = shown_path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return finding("schema-not-found", f"the schema file `{shown}` does not exist", at, help=_near_files(path))
    except UnicodeDecodeError:
        return finding("schema-unreadable", f"the schema file `{shown}` is not valid UTF-8", at)
    except IsADirectoryError:
        return finding("schema-unreadable", f"the schema file `{shown}` cannot be read: it is a directory", at)
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
        return [f"the directory `{shown_path(path.parent)}` does not exist either"]
    near = difflib.get_close_matches(path.stem, names, n=1)
    return [f"did you mean `{shown_path(path.with_name(names[near[0]]))}`?"] if near else []


def _from_json(text: str, directory: Path | None, declared: Span) -> Loaded:
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except _DuplicateKeyError as error:
        headline = f"duplicate key `{error}` in an object of the schema"
        return _failure("duplicate-key", headline, declared, help=["keep one of the two"])
    except ValueError as error:
        return _failure("schema-syntax", f"invalid JSON in the schema: {error}", declared)
    return _from_data(data, directory, declared)


class _DuplicateKeyError(ValueError):
    """An object in JSON text has a duplicate key: the argument."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise _DuplicateKeyError(key)
        members[key] = value
    return members


def _from_data(data: object, directory: Path | None, declared: Span) -> Loaded:
    try:
        value = value_at(data, declared)
    except TypeError as error:
        return _failure("schema-no-schema", f"invalid schema: {error}", declared)
    return _parsed(value, directory, None)


def _from_ddl(text: str, directory: Path, declared: Span) -> Loaded:
    from blueprint.avro.sources.ddl import DdlError, schema_of_ddl

    try:
        return _from_data(schema_of_ddl(text.strip()), directory, declared)
    except DdlError as error:
        causes = [f"at character {error.column} of `{text.strip()}`"]
        advice = [error.advice] if error.advice else []
        return _failure("schema-ddl", f"invalid schema columns: {error}", declared, causes, advice)


def _from_dataclass(source: type, directory: Path, declared: Span) -> Loaded:
    from blueprint.avro.sources.dataclass_schema import schema_of_dataclass

    value, problems, file = schema_of_dataclass(source, declared)
    loaded = _parsed(value, directory, file)
    failed = any(problem.severity is Severity.ERROR for problem in problems)
    return Loaded(None if failed else loaded.contract, (*problems, *loaded.problems))


def _parsed(value: Value, directory: Path | None, file: str | None) -> Loaded:
    parser = Parser(files=_files_in(directory, span_of(value)) if directory else lambda name: None)
    schema = parser.parse(value)
    problems = sorted(parser.problems, key=lambda problem: problem.sort_key)
    failed = any(problem.severity is Severity.ERROR for problem in problems)
    if schema is not None and not isinstance(schema, Record) and not failed:
        headline = f"a port schema must be an Avro record, found `{type_text(schema)}`"
        problems.append(finding("schema-not-a-record", headline, span_of(value)))
        failed = True
    contract = contract_of(schema, file) if isinstance(schema, Record) and not failed else None
    return Loaded(contract, tuple(problems))


def _files_in(directory: Path, at: Span) -> Callable[[str], Value | Diagnostic | None]:
    """Return a function that looks up a full name in the file `<name>.avsc` of a directory."""

    def look_up(name: str) -> Value | Diagnostic | None:
        path = directory / f"{name}.avsc"
        if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name too long to exist
            return None
        content = _read(path, at)
        if isinstance(content, Diagnostic):
            return content
        value, problems = content
        return problems[0] if value is None or problems else value

    return look_up


def _failure(
    code: str, headline: str, at: Span | Label, causes: list[str] | None = None, help: list[str] | None = None
) -> Loaded:
    return Loaded(None, (finding(code, headline, at, causes=causes or (), help=help or ()),))


def _shown(source: object) -> str:
    if isinstance(source, type):
        return f"the class `{source.__qualname__}`"
    text = repr(source)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
