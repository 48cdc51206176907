"""`StreamletShape`: its builders, and the shape that is derived when none is given."""

from __future__ import annotations

import pytest

from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, StreamletShape

A, B = AvroInlet("a", schema="x int"), AvroInlet("b", schema="x int")
OUT, REST = AvroOutlet("out", schema="x int"), AvroOutlet("rest", schema="x int")


def test_all_builders_say_the_same() -> None:
    """Constructor, `of` and chains in either order give equal shapes."""
    expected = StreamletShape(A, B, OUT)
    assert StreamletShape.of(A, B, OUT) == expected
    assert StreamletShape.with_inlets(A, B).with_outlets(OUT) == expected
    assert StreamletShape.with_outlets(OUT).with_inlets(A, B) == expected
    assert StreamletShape.empty().with_inlets(A, B).with_outlets(OUT) == expected
    assert (expected.inlets, expected.outlets) == ((A, B), (OUT,))


def test_a_second_builder_replaces() -> None:
    """As in Cloudflow, `with_outlets` replaces the outlets and leaves the shape it was called on as it was."""
    one = StreamletShape.with_inlets(A).with_outlets(OUT)
    assert one.with_outlets(REST) == StreamletShape(A, REST)
    assert one == StreamletShape(A, OUT)


def test_an_empty_shape_has_no_ports() -> None:
    """A streamlet without ports is allowed."""
    assert StreamletShape.empty().ports == ()


def test_a_builder_refuses_what_is_on_the_wrong_side() -> None:
    """Inlets among outlets, and things that are no ports, are named in the error."""
    with pytest.raises(TypeError, match=r"with_outlets takes AvroOutlets, not AvroInlet\('a'\)"):
        StreamletShape.with_outlets(A)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not of 'a'"):
        StreamletShape("a")  # type: ignore[arg-type]


class Base(SparkStreamlet):
    """Declares two ports."""

    left = AvroInlet(schema="x int")
    out = AvroOutlet(schema="x int")


class Derived(Base):
    """Adds one, and declares one anew."""

    right = AvroInlet(schema="x int")
    out = AvroOutlet(schema="x long")


class Without(Base):
    """Takes one back."""

    left = None  # type: ignore[assignment]


class Made(SparkStreamlet):
    """Makes its port in the constructor."""

    def __init__(self) -> None:
        self.late_one = AvroInlet(schema="x int")


def test_the_shape_is_derived_from_the_attributes() -> None:
    """All ports, inherited ones first; a name declared anew hides the inherited port, and `None` takes it back."""
    assert Derived().shape == StreamletShape(Base.left, Derived.right, Derived.out)
    assert Without().shape == StreamletShape(Base.out)


def test_ports_made_in_the_constructor_are_named_like_class_attributes() -> None:
    """An instance's ports belong to the shape under the attribute's name."""
    assert [port.name for port in Made().shape.ports] == ["late-one"]
