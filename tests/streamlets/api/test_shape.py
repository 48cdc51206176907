"""`StreamletShape`: its builder methods, and the shape that is derived from the ports."""

from __future__ import annotations

import pytest

from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, StreamletShape

A, B = AvroInlet("a", schema="x int"), AvroInlet("b", schema="x int")
OUT, REST = AvroOutlet("out", schema="x int"), AvroOutlet("rest", schema="x int")


def test_all_builders_return_equal_shapes() -> None:
    """The constructor, `of`, and chains in either order are equivalent."""
    expected = StreamletShape(A, B, OUT)
    assert StreamletShape.of(A, B, OUT) == expected
    assert StreamletShape.with_inlets(A, B).with_outlets(OUT) == expected
    assert StreamletShape.with_outlets(OUT).with_inlets(A, B) == expected
    assert StreamletShape.empty().with_inlets(A, B).with_outlets(OUT) == expected
    assert (expected.inlets, expected.outlets) == ((A, B), (OUT,))


def test_a_second_builder_replaces() -> None:
    """As in Cloudflow, `with_outlets` returns a copy with other outlets."""
    shape = StreamletShape.with_inlets(A).with_outlets(OUT)
    assert shape.with_outlets(REST) == StreamletShape(A, REST)
    assert shape == StreamletShape(A, OUT)


def test_an_empty_shape_has_no_ports() -> None:
    """A streamlet without ports is allowed."""
    assert StreamletShape.empty().ports == ()


def test_a_builder_rejects_other_ports() -> None:
    """An inlet among outlets and another value are errors."""
    with pytest.raises(TypeError, match=r"`with_outlets` expects ports of type `AvroOutlet`, found AvroInlet\('a'\)"):
        StreamletShape.with_outlets(A)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="found 'a'"):
        StreamletShape("a")  # type: ignore[arg-type]


class Base(SparkStreamlet):
    """Declares two ports."""

    left = AvroInlet(schema="x int")
    out = AvroOutlet(schema="x int")


class Derived(Base):
    """Adds a port, and declares an inherited one again."""

    right = AvroInlet(schema="x int")
    out = AvroOutlet(schema="x long")


class Without(Base):
    """Takes one back."""

    left = None  # type: ignore[assignment]


class WithConstructor(SparkStreamlet):
    """Creates its port in the constructor."""

    def __init__(self) -> None:
        self.late_one = AvroInlet(schema="x int")


def test_the_shape_is_derived_from_the_attributes() -> None:
    """Inherited ports come first; a name that is declared again hides the inherited port, `None` removes it."""
    assert Derived().shape == StreamletShape(Base.left, Derived.right, Derived.out)
    assert Without().shape == StreamletShape(Base.out)


def test_ports_of_an_instance_have_the_name_of_their_attribute() -> None:
    """Ports that a constructor creates belong to the shape, too."""
    assert [port.name for port in WithConstructor().shape.ports] == ["late-one"]
