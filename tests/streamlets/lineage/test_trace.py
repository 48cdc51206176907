"""Columns are followed through streamlets, with their places in the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamlets.lineage.application import ApplicationLineage
from streamlets.lineage.targets import UnknownColumnError, targets_of
from streamlets.lineage.trace import Step, Tracer
from tests.streamlets.lineage.kiosk_lineage import KIOSK, build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def kiosk(spark: SparkSession) -> ApplicationLineage:
    """The lineage of the kiosk."""
    return build(spark)


def _flat(steps: tuple[Step, ...], indent: str = "") -> list[str]:
    """Return a trace as lines: kind, name, and `by` for what decides about records."""
    lines = []
    for step in steps:
        by = "by " if step.decides else ""
        lines.append(f"{indent}{by}{step.kind.value + ' ' if step.kind else ''}{step.name}")
        lines += _flat(step.steps, indent + "  ")
    return lines


def _line(text: str, file: str = "kiosk.py") -> int:
    """Return the line of the kiosk's code that has a text."""
    lines = (KIOSK / file).read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_column_is_followed_to_the_source(kiosk: ApplicationLineage) -> None:
    """Upstream, a sum in SQL comes from a branch of a query, and that from a source outside of the application."""
    assert _flat(Tracer(kiosk).up("totals", ("spent",))) == [
        "aggregation large.amount",
        "  identity orders.amount",
        "    transformation value in rate password=(secret)",
        "  by filter orders.amount",
        "by filter large.city",
        "by group key large.customer",
    ]


def test_a_column_is_followed_to_its_users(kiosk: ApplicationLineage) -> None:
    """Downstream, a nested field is used by columns, by decisions about records, and by sinks."""
    assert _flat(Tracer(kiosk).down("orders", ("address", "city"))) == [
        "identity large.city",
        "  transformation scores.score",
        "    identity amount in the sink of `again`",
        "  by filter the records of `totals`",
        "identity small.city",
    ]


def test_fields_that_a_reader_renames_are_the_same(kiosk: ApplicationLineage) -> None:
    """A reader's alias leads to the writer's column, and a reader's default to none."""
    assert _flat(Tracer(kiosk).down("small", ("customer",))) == ["identity buyer in the sink of `post`"]
    post = kiosk.plan.streamlet("post")
    (output,) = kiosk.streamlets["post"].outputs
    (country,) = Tracer(kiosk).inputs_of(post, output, ("country",), 9)
    assert (country.name, country.note) == ("small.country", "the default of the reader's contract")


def test_places_are_in_the_code_of_the_author(kiosk: ApplicationLineage) -> None:
    """A column has the line of its expression: in Python, in SQL in the blueprint, or of the call on a DataFrame."""
    places = {
        (topic, column): kiosk.outputs(streamlet, outlet)[0].columns[(column,)].place
        for topic, column, streamlet, outlet in (
            ("orders", "amount", "till", "out"), ("totals", "sales", "totals", "totals"),
            ("small", "amount", "split", "small"),
        )
    }  # fmt: skip
    found = {key: (place.file.rpartition("/")[2], place.line) for key, place in places.items() if place is not None}
    assert found == {
        ("orders", "amount"): ("kiosk.py", _line("* 1.5")),
        ("totals", "sales"): ("blueprint.conf", _line("count(*)", "blueprint.conf")),
        ("small", "amount"): ("kiosk.py", _line("F.round")),
    }


def test_what_a_query_writes_to_a_sink(kiosk: ApplicationLineage) -> None:
    """Its columns come from the inlets of its streamlet, and the sink uses them."""
    (target,) = targets_of(kiosk, "post.post.amount")
    assert _flat(Tracer(kiosk, 1).origins(target)) == ["identity small.amount"]
    assert [(step.name, step.note) for step in Tracer(kiosk).users(target)] == [
        ("the sink of `post`", "a function of batches")
    ]


def test_the_depth_limits_a_trace(kiosk: ApplicationLineage) -> None:
    """With a depth of one, a trace ends at the columns that a streamlet reads or writes."""
    assert _flat(Tracer(kiosk, 1).up("scores", ("score",))) == [
        "transformation large.amount", "transformation large.city",
    ]  # fmt: skip
    assert all(not step.steps for step in Tracer(kiosk, 1).down("orders", ("amount",)))


def test_a_column_is_followed_once(kiosk: ApplicationLineage) -> None:
    """A column that occurs twice in a trace is followed at its first occurrence, so that traces stay small."""
    steps = Tracer(kiosk).down("orders", ("amount",))
    names = [line.split()[-1] for line in _flat(steps) if "scores.score" in line]
    assert len(names) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("spent", ["totals.spent"]),
        ("large.city", ["large.city"]),
        ("orders.address.city", ["orders.address.city"]),
        ("address.zip", ["orders.address.zip"]),
        ("split.small.amount", ["small.amount"]),
        ("post.in.buyer", ["small.customer"]),
        ("customer", ["large.customer", "orders.customer", "small.customer", "totals.customer"]),
        ("again", ["again.again.amount"]),
        ("post.post.amount", ["post.post.amount"]),
        ("post.post", ["post.post.amount", "post.post.buyer", "post.post.country"]),
        ("country", ["post.post.country"]),
        ("large", ["large.amount", "large.city", "large.customer"]),
    ],
)
def test_names_of_columns(kiosk: ApplicationLineage, name: str, expected: list[str]) -> None:
    """A name is a column, a topic and a column, a port and a column, or a topic; nested fields follow."""
    assert sorted(target.name for target in targets_of(kiosk, name)) == expected


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("totals.spend", "did you mean `totals.spent`?"),
        ("custmer", "did you mean `customer`?"),
        ("totals.zzz", "the columns of `totals` are `customer`, `spent` and `sales`"),
        ("zzz", "the topics are `large`, `orders`, `scores`, `small` and `totals`"),
    ],
)
def test_unknown_names(kiosk: ApplicationLineage, name: str, help: str) -> None:
    """An unknown name has the nearest ones as help, or those that exist."""
    with pytest.raises(UnknownColumnError) as error:
        targets_of(kiosk, name)
    assert error.value.help == help
