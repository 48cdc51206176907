"""The page of the streamlets that come with the framework, with their ports and parameters."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import streamlets
from blueprint.catalog import LoadFailure, StreamletDescriptor, StreamletRequest
from manual.reference.markdown import description
from manual.reference.tables import code, table
from streamlets.project.catalog import ProjectCatalog


def built_in_streamlets() -> Iterator[tuple[str, StreamletDescriptor]]:
    """Yield the name and the descriptor of each streamlet that a blueprint can use without code of its own.

    Raises:
        LookupError: a class cannot be described.
    """
    catalog = ProjectCatalog()
    for name in streamlets.__all__:
        value = getattr(streamlets, name)
        if not inspect.isclass(value) or not issubclass(value, streamlets.Streamlet) or inspect.isabstract(value):
            continue
        if value in (streamlets.Streamlet, streamlets.SparkStreamlet):
            continue
        found = catalog.describe(
            StreamletRequest(
                ref=name, class_name=f"streamlets.{name}", directory=os.fspath(Path(__file__).parent.parent / "sphinx")
            )
        )
        if isinstance(found, LoadFailure):
            raise LookupError(found.message)
        yield f"streamlets.{name}", found


def streamlets_page() -> str:
    """Return the page."""
    parts = ["# Built-in streamlets\n\nA blueprint uses them without code: `class = streamlets.Sink`.\n"]
    for name, descriptor in built_in_streamlets():
        parts.append(
            f"## `{name}`\n\n{description(inspect.getdoc(getattr(streamlets, name.partition('.')[2])) or '')}\n"
        )
        ports = [
            *((code(port.name), "inlet") for port in descriptor.inlets),
            *((code(port.name), "outlet") for port in descriptor.outlets),
        ]
        if ports:
            parts.append(table(("port", "kind"), ports))
        if descriptor.parameters:
            rows = [
                (
                    code(parameter.key),
                    ", ".join(map(code, parameter.choices)) or parameter.type.value,
                    code(parameter.default or "") or ("optional" if parameter.optional else "required"),
                    parameter.description,
                )
                for parameter in descriptor.parameters
            ]
            parts.append(table(("parameter", "value", "default", "meaning"), rows))
    return "\n".join(parts)
