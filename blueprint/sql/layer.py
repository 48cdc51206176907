"""A job file as a layer of settings: a blueprint of one streamlet `job`, whose statements are the file's text.

`${...}` in the statements become substitutions of this layer, with their places in the file. They have the values of
settings, and findings about them point into the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from blueprint.diagnostics import Diagnostic, Span, finding
from blueprint.hocon import Layer, path_text
from blueprint.hocon.files import read_text, shown_name
from blueprint.hocon.source import Source
from blueprint.hocon.tree import Concatenation, Definition, Node, ObjectNode, ScalarNode, Substitution
from blueprint.hocon.values import Origin
from blueprint.sql.parser import parse
from blueprint.sql.tokens import Variable

STREAMLET = "job"
"""The name of a job's streamlet."""

CLASS = "streamlets.Sql"
"""The class of a job's streamlet. It has the config parameters `statements`, `variables` and `file`."""


def job_layer(path: Path, texts: Mapping[Path, str]) -> Layer:
    """Read a job file; the findings of the layer are the mistakes of its syntax.

    Arguments:
        path: the file. Its name without the suffix is the name of the application, unless a setting has another.
        texts: strings to read instead of files, by resolved path.
    """
    name = shown_name(path)
    start = Span(name, 1, 1, 1, 1)
    known = texts.get(path.resolve()) if texts else None
    text = known.removeprefix("\ufeff") if known is not None else read_text(path, name)
    if isinstance(text, Diagnostic):
        return Layer(name, ObjectNode(origins=[Origin(start)]), (text,))
    source = Source(name, text)
    whole = source.span(0, len(text))
    script = parse(source)
    findings = script.findings
    if not text.strip():
        findings = (finding("file-empty", f"`{name}` is empty", start),)
    parameters = _object(start, {
        "file": _string(path.name, start),
        "statements": ScalarNode(text, text, False, whole),
        "variables": _variables(source, script.variables, start),
    })  # fmt: skip
    streamlet = _object(start, {"class": _string(CLASS, start), "parameters": parameters})
    root = _object(start, {
        "blueprint": _object(start, {"streamlets": _object(start, {STREAMLET: streamlet})}),
        "flow": _object(start, {"application": _string(path.stem, start)}),
    })  # fmt: skip
    return Layer(name, root, findings)


def _variables(source: Source, variables: Iterable[Variable], start: Span) -> ObjectNode:
    """Return an object with the value of each variable as a string, by its path."""
    nodes: dict[str, Node] = {}
    for variable in variables:
        span = source.span(variable.start, variable.end)
        value = Substitution(variable.path, variable.optional, span)
        # The empty string makes a string of a number, with its spelling, and of a missing optional value.
        node = Concatenation([value, ScalarNode("", "", True, span)], ["", ""], span)
        if not variable.optional or path_text(variable.path) not in nodes:
            nodes[path_text(variable.path)] = node
    return _object(start, nodes)


def _object(start: Span, fields: Mapping[str, Node]) -> ObjectNode:
    node = ObjectNode(origins=[Origin(start)])
    for key, value in fields.items():
        node.add(key, Definition(value.span if isinstance(value, Concatenation) else start, value))
    return node


def _string(text: str, span: Span) -> ScalarNode:
    return ScalarNode(text, text, True, span)
