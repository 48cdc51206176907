"""Schemas of ports as text for an editor."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.avro.model import Contract, Field, type_text


def title(contract: Contract | None) -> str:
    """Return the name of a schema's record, or its number of fields; empty if there is no schema."""
    return type_text(contract.record) if contract is not None else ""


def column_types(contract: Contract) -> dict[str, str]:
    """Return the type of each field of a schema, by name."""
    return {field.name: type_text(field.schema) for field in contract.record.fields}


def table(contract: Contract | None) -> str:
    """Return the fields of a schema as a table in Markdown."""
    if contract is None:
        return "The schema cannot be read."
    doc = f"{contract.record.doc}\n\n" if contract.record.doc else ""
    rows = "\n".join(_rows(contract.record.fields))
    return f"{doc}| field | type | |\n| --- | --- | --- |\n{rows}"


def _rows(fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        default = "has a default" if field.has_default else ""
        note = ". ".join(filter(None, (field.doc, default)))
        yield f"| `{field.name}` | {_cell(type_text(field.schema))} | {_cell(note)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
