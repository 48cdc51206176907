"""Ports: their names, where they were declared, and what their declaration refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets import AvroInlet, AvroOutlet, SparkStreamlet


class Splitter(SparkStreamlet):
    """Declares ports in every form."""

    raw_data = AvroInlet(schema="value long")
    in_ = AvroInlet("in", schema="value long")
    grüße = AvroOutlet(
        schema="value long",
        partition_by="value",
    )


class SpecialInlet(AvroInlet):
    """An inlet of the author's own."""

    def __init__(self) -> None:
        super().__init__("special", schema="value long")


SPECIAL = SpecialInlet()


def text_at(lines: list[str], line: int, column: int, end_line: int, end_column: int) -> str:
    """The source text of a span of this file."""
    part = lines[line - 1 : end_line]
    part[-1] = part[-1][: end_column - 1]
    part[0] = part[0][column - 1 :]
    return "\n".join(part)


def test_a_port_is_called_like_its_attribute_with_hyphens() -> None:
    """Without a name the attribute's is taken, `_` as `-`; a given name stays as it is."""
    streamlet = Splitter()
    assert (streamlet.raw_data.name, streamlet.in_.name) == ("raw-data", "in")


def test_a_port_knows_the_characters_of_its_declaration() -> None:
    """The span covers the call, over several lines, counted in characters where bytes would be more."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    found = Splitter.grüße.declared.span
    text = text_at(lines, found.line, found.column, found.end_line, found.end_column)
    assert text.startswith("AvroOutlet(\n") and text.endswith("\n    )")
    one = Splitter.in_.declared.span
    assert text_at(lines, one.line, one.column, one.end_line, one.end_column) == 'AvroInlet("in", schema="value long")'


def test_a_port_of_a_subclass_is_declared_where_the_author_made_it() -> None:
    """Constructors of subclasses are passed over: the place is the author's call."""
    span = SPECIAL.declared.span
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[span.line - 1]
    assert line == "SPECIAL = SpecialInlet()"


def test_a_span_names_the_file_relative_to_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the working directory the file is named as the user would; elsewhere it is absolute."""
    here = Path(__file__)
    monkeypatch.chdir(here.parent)
    assert SPECIAL.declared.span.file == here.name
    monkeypatch.chdir("/")
    assert SPECIAL.declared.span.file == str(here.relative_to("/"))
    monkeypatch.chdir("/usr")
    assert SPECIAL.declared.span.file == str(here)


def test_declaring_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A declaration only keeps what it was given: no schema is opened, no source line looked up."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    assert AvroInlet("in", schema="there/is/none.avsc").schema == "there/is/none.avsc"


def test_partition_columns_are_a_tuple_whatever_their_form() -> None:
    """One column, several, or none."""
    assert AvroOutlet("a", schema="b int").partition_by == ()
    assert AvroOutlet("a", schema="b int", partition_by="b").partition_by == ("b",)
    assert AvroOutlet("a", schema="b int", partition_by=["b", "b % 2"]).partition_by == ("b", "b % 2")


@pytest.mark.parametrize(("argument", "value"), [("on_invalid", "ignore"), ("extra", "keep")])
def test_an_outlet_refuses_a_policy_that_there_is_not(argument: str, value: str) -> None:
    """The message names both policies there are."""
    with pytest.raises(ValueError, match=f"{argument} is `fail` or `d.*`, not '{value}'"):
        AvroOutlet("out", schema="value long", **{argument: value})  # type: ignore[arg-type]


def test_a_port_without_a_name_outside_a_class_has_none() -> None:
    """Its name cannot be told, and the message says what to do."""
    with pytest.raises(ValueError, match="must be an attribute of its streamlet's class"):
        _ = AvroInlet(schema="value long").name


@pytest.mark.parametrize("port", [AvroInlet, AvroOutlet])
@pytest.mark.parametrize("name", [5, int, {"type": "record"}])
def test_a_name_that_is_no_text_is_refused_where_it_is_written(port: type, name: object) -> None:
    """It is a schema most often, whose keyword was forgotten, and the message says so."""
    with pytest.raises(TypeError, match=r"the name of an .*let is a text, not .*: a schema is `schema=...`"):
        port(name)


def test_columns_that_are_no_texts_are_refused_where_they_are_written() -> None:
    """Verification reads them as names and expressions."""
    with pytest.raises(TypeError, match="what an outlet is partitioned by is a text, not 1"):
        AvroOutlet("out", schema="value long", partition_by=(1,))  # type: ignore[arg-type]
