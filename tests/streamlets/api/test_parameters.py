"""Declarations of config parameters and volume mounts, and triggers."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from blueprint.catalog import ParameterType
from blueprint.quantities import QuantityError, duration, memory_size
from blueprint.trigger import AvailableNow, ProcessingTime, RealTime
from streamlets import (
    BooleanParameter,
    DoubleParameter,
    DurationParameter,
    IntegerParameter,
    MemorySizeParameter,
    ObjectParameter,
    RegExpParameter,
    SparkStreamlet,
    StringParameter,
    VolumeMount,
    triggers,
)


class Declares(SparkStreamlet):
    """A streamlet with declarations of each kind."""

    how_many = IntegerParameter("How many", default=5)
    renamed = StringParameter("A string", key="other-name")
    models = VolumeMount(path="/models", access_mode="ReadOnlyMany")


def test_a_parameter_has_the_name_of_its_attribute_by_default() -> None:
    """`_` is replaced by `-`, as in port names."""
    assert (Declares.how_many.key, Declares.renamed.key) == ("how-many", "other-name")
    assert Declares.models.name == "models"


@pytest.mark.parametrize(
    ("parameter", "kind", "text"),
    [
        (IntegerParameter("n", default=-3), ParameterType.INTEGER, "-3"),
        (StringParameter("s", default="a b"), ParameterType.STRING, "a b"),
        (DoubleParameter("d", default=0.5), ParameterType.DOUBLE, "0.5"),
        (BooleanParameter("b", default=False), ParameterType.BOOLEAN, "false"),
        (RegExpParameter("r", "(a|b)+", default="ab"), ParameterType.REGEXP, "ab"),
        (DurationParameter("t", default=datetime.timedelta(minutes=90)), ParameterType.DURATION, "90 minutes"),
        (DurationParameter("t", default=duration("250ms")), ParameterType.DURATION, "250 milliseconds"),
        (MemorySizeParameter("m", default=memory_size("1 KiB")), ParameterType.MEMORY_SIZE, "1024 bytes"),
        (ObjectParameter("o", default={"a": [1, True]}), ParameterType.OBJECT, '{"a": [1, true]}'),
        (IntegerParameter("n"), ParameterType.INTEGER, None),
    ],
)
def test_a_default_is_stored_in_the_notation_of_the_blueprint(
    parameter: IntegerParameter, kind: ParameterType, text: str | None
) -> None:
    """Python values are stored as strings, so that defaults and configured values are parsed by the same code."""
    assert (parameter.kind, parameter.default) == (kind, text)


def test_choices_are_stored_as_strings() -> None:
    """They are compared with the value in the blueprint."""
    assert IntegerParameter("n", choices=[1, 2]).choices == ("1", "2")


def test_a_volume_mount_rejects_an_unknown_access_mode() -> None:
    """The message has both modes."""
    with pytest.raises(ValueError, match="`ReadWriteMany` or `ReadOnlyMany`, found 'rw'"):
        VolumeMount(path="/a", access_mode="rw")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "arguments", "what"),
    [
        (StringParameter, {"description": 5}, "the description of a parameter"),
        (StringParameter, {"description": "x", "key": 5}, "the key of a parameter"),
        (RegExpParameter, {"description": "x", "pattern": re.compile("a")}, "the pattern of a parameter"),
        (VolumeMount, {"name": 5, "path": "/a"}, "the name of a volume mount"),
        (VolumeMount, {"path": Path("/a")}, "the path of a volume mount"),
    ],
)
def test_names_and_patterns_must_be_strings(kind: type, arguments: dict[str, object], what: str) -> None:
    """The constructor raises an error, so that the author sees the line."""
    with pytest.raises(TypeError, match=f"{what} must be a string, found "):
        kind(**arguments)


def test_triggers_are_those_of_the_plan() -> None:
    """Triggers in code and in the blueprint are the same data."""
    assert triggers.processing_time("5 seconds") == ProcessingTime(duration("5s"))
    assert triggers.real_time(duration("5 minutes")) == RealTime(duration("5 minutes"))
    assert triggers.available_now() == AvailableNow()
    with pytest.raises(QuantityError, match="is not a duration"):
        triggers.processing_time("soon")
