"""Ports: their names, the locations of their declarations, and invalid declarations."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets import AvroInlet, AvroOutlet, SparkStreamlet


class Splitter(SparkStreamlet):
    """A streamlet with ports of each form."""

    raw_data = AvroInlet(schema="value long")
    in_ = AvroInlet("in", schema="value long")
    grüße = AvroOutlet(
        schema="value long",
        partition_by="value",
    )


class SpecialInlet(AvroInlet):
    """A subclass of the author."""

    def __init__(self) -> None:
        super().__init__("special", schema="value long")


SPECIAL = SpecialInlet()


def text_at(lines: list[str], line: int, column: int, end_line: int, end_column: int) -> str:
    """Return the source text of a span of this file."""
    part = lines[line - 1 : end_line]
    part[-1] = part[-1][: end_column - 1]
    part[0] = part[0][column - 1 :]
    return "\n".join(part)


def test_a_port_has_the_name_of_its_attribute_by_default() -> None:
    """`_` is replaced by `-`; a name that is passed stays unchanged."""
    streamlet = Splitter()
    assert (streamlet.raw_data.name, streamlet.in_.name) == ("raw-data", "in")


def test_a_port_has_the_span_of_its_declaration() -> None:
    """The span covers a call over several lines, and counts characters instead of bytes."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    span = Splitter.grüße.declared.span
    text = text_at(lines, span.line, span.column, span.end_line, span.end_column)
    assert text.startswith("AvroOutlet(\n") and text.endswith("\n    )")
    span = Splitter.in_.declared.span
    assert (
        text_at(lines, span.line, span.column, span.end_line, span.end_column) == 'AvroInlet("in", schema="value long")'
    )


def test_a_port_of_a_subclass_is_located_at_the_authors_call() -> None:
    """Calls of base constructors are skipped."""
    span = SPECIAL.declared.span
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[span.line - 1]
    assert line == "SPECIAL = SpecialInlet()"


def test_the_file_of_a_span_is_relative_to_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of the working directory it is absolute."""
    here = Path(__file__)
    monkeypatch.chdir(here.parent)
    assert SPECIAL.declared.span.file == here.name
    monkeypatch.chdir("/")
    assert SPECIAL.declared.span.file == str(here.relative_to("/"))
    monkeypatch.chdir("/usr")
    assert SPECIAL.declared.span.file == str(here)


def test_a_declaration_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A declaration stores its arguments: it opens neither the schema nor the source file."""

    def forbid(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("builtins.open", forbid)
    monkeypatch.setattr("io.open", forbid)
    assert AvroInlet("in", schema="missing/file.avsc").schema == "missing/file.avsc"


def test_partition_columns_are_a_tuple() -> None:
    """The argument is one column, several columns, or none."""
    assert AvroOutlet("a", schema="b int").partition_by == ()
    assert AvroOutlet("a", schema="b int", partition_by="b").partition_by == ("b",)
    assert AvroOutlet("a", schema="b int", partition_by=["b", "b % 2"]).partition_by == ("b", "b % 2")


@pytest.mark.parametrize(("argument", "value"), [("on_invalid", "ignore"), ("extra", "keep")])
def test_an_outlet_rejects_an_unknown_policy(argument: str, value: str) -> None:
    """The message has both policies."""
    with pytest.raises(ValueError, match=f"{argument} must be `fail` or `d.*`, found '{value}'"):
        AvroOutlet("out", schema="value long", **{argument: value})  # type: ignore[arg-type]


def test_an_inlet_rejects_an_unknown_policy() -> None:
    """It has those of an outlet."""
    assert AvroInlet("in", schema="value long", on_invalid="dead-letters").on_invalid == "dead-letters"
    with pytest.raises(ValueError, match="on_invalid must be `fail` or `dead-letters`, found 'skip'"):
        AvroInlet("in", schema="value long", on_invalid="skip")  # type: ignore[arg-type]


def test_a_port_outside_of_a_class_needs_a_name() -> None:
    """The message explains what to do."""
    with pytest.raises(ValueError, match="the name of an inlet is missing: pass it, or declare it as an attribute"):
        _ = AvroInlet(schema="value long").name


@pytest.mark.parametrize("port", [AvroInlet, AvroOutlet])
@pytest.mark.parametrize("name", [5, int, {"type": "record"}])
def test_the_name_of_a_port_must_be_a_string(port: type, name: object) -> None:
    """It is most often a schema whose keyword was forgotten, which the message suggests."""
    with pytest.raises(
        TypeError, match=r"the name of an .*let must be a string, found .*: pass a schema as `schema=...`"
    ):
        port(name)


def test_partition_columns_must_be_strings() -> None:
    """They are names of columns or SQL expressions."""
    with pytest.raises(TypeError, match="a partition column of an outlet must be a string, found 1"):
        AvroOutlet("out", schema="value long", partition_by=(1,))  # type: ignore[arg-type]
