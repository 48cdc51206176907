"""Values of config parameters: what each type takes, gives and refuses."""

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
    """A parameter of a type."""
    return ParameterDescriptor("p", "", type, **{"default": None, "declared": HERE, **more})  # type: ignore[arg-type]


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
def test_what_does_not_fit_is_refused(type: ParameterType, text: str) -> None:
    """The message quotes the text."""
    with pytest.raises(ParameterError, match=r"is n|is neither"):
        parameter_text(parameter(type), text)


def test_patterns_match_from_end_to_end_and_may_have_groups() -> None:
    """A capture group changes nothing, and a match inside is none."""
    station = parameter(ParameterType.REGEXP, pattern="([A-Z]{3})(-[0-9])?")
    assert parameter_text(station, "OSL-1") == "OSL-1"
    with pytest.raises(ParameterError, match="from end to end"):
        parameter_text(station, "OSL-1 ")


def test_choices_limit_values() -> None:
    """The choices are listed, and a near one is proposed."""
    with pytest.raises(ParameterError) as refused:
        parameter_text(parameter(ParameterType.STRING, choices=("celsius", "kelvin")), "celsus")
    assert refused.value.help == ("did you mean `celsius`?", "write `celsius` or `kelvin`")


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
def test_a_choice_may_be_written_in_any_way(
    type: ParameterType, choices: tuple[str, ...], text: str, fits: bool
) -> None:
    """Values are compared, not their spelling; a choice that is no value of the type is nobody's."""
    if fits:
        assert parameter_text(parameter(type, choices=choices), text) is not None
    else:
        with pytest.raises(ParameterError, match="is none of the choices"):
            parameter_text(parameter(type, choices=choices), text)


def test_text_of_any_depth_and_length_is_refused_in_a_line() -> None:
    """What a user puts in quotes by mistake neither raises nor fills the screen."""
    with pytest.raises(ParameterError, match="is not an object") as refused:
        parameter_text(parameter(ParameterType.OBJECT), '{"a":' + "[" * 100_000)
    assert len(str(refused.value)) < 120


def test_numbers_keep_their_spelling_as_text() -> None:
    """A string parameter gets what was written, not what HOCON made of it."""
    assert parameter_value(parameter(ParameterType.STRING), Scalar(1.5, "1.50", False, PLACE)) == "1.50"


def test_only_object_parameters_take_objects() -> None:
    """And none takes a list or null."""
    empty = ObjectValue({}, PLACE)
    assert parameter_value(parameter(ParameterType.OBJECT), empty) == {}
    for value in (empty, ListValue((), PLACE), Scalar(None, "null", False, PLACE)):
        with pytest.raises(ParameterError):
            parameter_value(parameter(ParameterType.STRING), value)
