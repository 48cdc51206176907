"""Values of config parameters: the values that each type accepts and rejects."""

from __future__ import annotations

import pytest

from blueprint.catalog import ParameterDescriptor, ParameterType
from blueprint.diagnostics import Span
from blueprint.hocon import ListValue, ObjectValue, Origin, Scalar
from blueprint.quantities import Duration, MemorySize
from blueprint.settings.parameters import ParameterError, parameter_default, parameter_text, parameter_value

HERE = Span("f", 1, 1, 1, 2)
PLACE = (Origin(HERE),)


def parameter(type: ParameterType, **more: object) -> ParameterDescriptor:
    """Return a parameter of a type."""
    return ParameterDescriptor(key="p", description="", type=type, **{"default": None, "declared": HERE, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (ParameterType.INTEGER, "-5", -5),
        (ParameterType.INTEGER, "2147483647", 2147483647),
        (ParameterType.STRING, "007", "007"),
        (ParameterType.DOUBLE, "1e3", 1000.0),
        (ParameterType.BOOLEAN, "on", True),
        (ParameterType.BOOLEAN, "no", False),
        (ParameterType.DURATION, "5 minutes", Duration(300 * 10**9)),
        (ParameterType.MEMORY_SIZE, "64 MiB", MemorySize(64 * 2**20)),
        (ParameterType.OBJECT, '{"a": 1}', {"a": 1}),
    ],
)
def test_texts_become_typed_values(type: ParameterType, text: str, value: object) -> None:
    """Each type reads what the blueprint writes."""
    assert parameter_text(parameter(type), text) == value
    assert parameter_default(parameter(type, default=text)) == value


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (ParameterType.INTEGER, "5.0"),
        (ParameterType.INTEGER, "2147483648"),
        (ParameterType.INTEGER, "1_000"),
        (ParameterType.INTEGER, "9" * 5000),
        (ParameterType.DOUBLE, "nan"),
        (ParameterType.DOUBLE, "1e999"),
        (ParameterType.DOUBLE, "1_0"),
        (ParameterType.BOOLEAN, "True"),
        (ParameterType.DURATION, "soon"),
        (ParameterType.MEMORY_SIZE, "-1"),
        (ParameterType.OBJECT, "[1]"),
    ],
)
def test_invalid_texts_are_rejected(type: ParameterType, text: str) -> None:
    """The message says what is wrong."""
    with pytest.raises(ParameterError, match=r"is not a|does not fit into 32 bits|is negative"):
        parameter_text(parameter(type), text)


def test_patterns_match_the_whole_value_and_may_have_groups() -> None:
    """A capture group changes nothing, and a match of a part is not enough."""
    station = parameter(ParameterType.REGEXP, pattern="([A-Z]{3})(-[0-9])?")
    assert parameter_text(station, "OSL-1") == "OSL-1"
    with pytest.raises(ParameterError, match="the whole value must match"):
        parameter_text(station, "OSL-1 ")


def test_choices_limit_values() -> None:
    """The choices are listed, and a similar one is suggested."""
    with pytest.raises(ParameterError) as caught:
        parameter_text(parameter(ParameterType.STRING, choices=("celsius", "kelvin")), "celsus")
    assert caught.value.help == ("did you mean `celsius`?", "write `celsius` or `kelvin`")


@pytest.mark.parametrize(
    ("type", "choices", "text", "fits"),
    [
        (ParameterType.DOUBLE, ("1.0", "2.5"), "1", True),
        (ParameterType.DURATION, ("1 minute",), "60 s", True),
        (ParameterType.MEMORY_SIZE, ("1 KiB",), "1024", True),
        (ParameterType.BOOLEAN, ("true",), "on", True),
        (ParameterType.INTEGER, ("one", "2"), "2", True),
        (ParameterType.INTEGER, ("one", "2"), "3", False),
        (ParameterType.STRING, ("1.0",), "1", False),
    ],
)
def test_a_choice_may_have_any_spelling(type: ParameterType, choices: tuple[str, ...], text: str, fits: bool) -> None:
    """Values are compared, not their spelling; a choice that is not valid for the type matches only itself."""
    if fits:
        assert parameter_text(parameter(type, choices=choices), text) is not None
    else:
        with pytest.raises(ParameterError, match="is not one of the choices"):
            parameter_text(parameter(type, choices=choices), text)


def test_text_of_any_depth_and_length_is_rejected_in_a_line() -> None:
    """A long or deeply nested text in quotes neither raises another error nor fills the screen."""
    with pytest.raises(ParameterError, match="is not an object") as caught:
        parameter_text(parameter(ParameterType.OBJECT), '{"a":' + "[" * 100_000)
    assert len(str(caught.value)) < 120


def test_numbers_keep_their_spelling_as_text() -> None:
    """A string parameter has the text as written, not the number that HOCON reads."""
    assert parameter_value(parameter(ParameterType.STRING), Scalar(1.5, "1.50", False, PLACE)) == "1.50"


def test_only_object_parameters_take_objects() -> None:
    """No parameter accepts a list or null."""
    empty = ObjectValue({}, PLACE)
    assert parameter_value(parameter(ParameterType.OBJECT), empty) == {}
    for value in (empty, ListValue((), PLACE), Scalar(None, "null", False, PLACE)):
        with pytest.raises(ParameterError):
            parameter_value(parameter(ParameterType.STRING), value)
