"""Config parameters, volume mounts and triggers: what a declaration keeps."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from blueprint.catalog import ParameterType
from blueprint.plan import AvailableNow, ProcessingTime, RealTime
from blueprint.quantities import QuantityError, duration, memory_size
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
    """One of each."""

    how_many = IntegerParameter("How many", default=5)
    renamed = StringParameter("A text", key="other-name")
    models = VolumeMount(path="/models", access_mode="ReadOnlyMany")


def test_a_parameter_is_called_like_its_attribute_unless_it_has_a_key() -> None:
    """`_` becomes `-`, as in port names."""
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
def test_a_default_is_kept_as_the_blueprint_would_write_it(
    parameter: IntegerParameter, kind: ParameterType, text: str | None
) -> None:
    """Python values become text, so that defaults and configured values go through one reader."""
    assert (parameter.kind, parameter.default) == (kind, text)


def test_choices_are_kept_as_text() -> None:
    """They are compared with what the blueprint writes."""
    assert IntegerParameter("n", choices=[1, 2]).choices == ("1", "2")


def test_a_volume_mount_refuses_an_access_mode_that_there_is_not() -> None:
    """The message names both modes."""
    with pytest.raises(ValueError, match="`ReadWriteMany` or `ReadOnlyMany`, not 'rw'"):
        VolumeMount(path="/a", access_mode="rw")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declared", "given", "what"),
    [
        (StringParameter, {"description": 5}, "the description of a parameter"),
        (StringParameter, {"description": "x", "key": 5}, "the key of a parameter"),
        (RegExpParameter, {"description": "x", "pattern": re.compile("a")}, "the pattern of a parameter"),
        (VolumeMount, {"name": 5, "path": "/a"}, "the name of a volume mount"),
        (VolumeMount, {"path": Path("/a")}, "the path of a volume mount"),
    ],
)
def test_what_is_no_text_is_refused_where_it_is_written(declared: type, given: dict[str, object], what: str) -> None:
    """The author sees the line, and not what would come of it in verification."""
    with pytest.raises(TypeError, match=f"{what} is a text, not "):
        declared(**given)


def test_triggers_are_the_plans() -> None:
    """The author's triggers are the same data as the blueprint's."""
    assert triggers.processing_time("5 seconds") == ProcessingTime(duration("5s"))
    assert triggers.real_time(duration("5 minutes")) == RealTime(duration("5 minutes"))
    assert triggers.available_now() == AvailableNow()
    with pytest.raises(QuantityError, match="is not a duration"):
        triggers.processing_time("soon")
