"""Plans as Spark prints them, read back."""

from __future__ import annotations

from streamlets.spark.plan_tree import lists, parse_tree, watermarked

PRINTED = """\
~Project [hour#0-T3600000ms, b#1, c#6]
+- ~Join LeftOuter, ((hour#0-T3600000ms = hour#4-T3600000ms) AND (b#1 = b#5))
   :- ~EventTimeWatermark 59682ecb, hour#0: timestamp, 1 hours
   :  +- ~Filter (c#2 = a text with
a line end in it)
   :     +- StreamingRelation FileSource[/a], [hour#0, b#1, c#2], name="one"
   +- LocalRelation [hour#4, b#5, c#6]
"""


def test_nodes_keep_their_place() -> None:
    """Children are below their parents, in order; other lines are ignored."""
    root = parse_tree(PRINTED)
    assert [node.name for node in root.all()] == [
        "Project", "Join", "EventTimeWatermark", "Filter", "StreamingRelation", "LocalRelation"
    ]  # fmt: skip
    join = root.children[0]
    assert [child.name for child in join.children] == ["EventTimeWatermark", "LocalRelation"]
    assert join.rest.startswith("LeftOuter, ((hour#0")


def test_a_node_is_streaming_if_a_stream_is_below_it() -> None:
    """Its other children are not."""
    join = parse_tree(PRINTED).children[0]
    assert join.streaming
    assert [child.streaming for child in join.children] == [True, False]


def test_watermarked_columns_are_counted_once() -> None:
    """A column that appears twice counts once."""
    assert watermarked("(hour#0-T10ms = hour#4-T10ms) AND (hour#0-T10ms > x#3)") == 2
    assert watermarked("(hour#0 = hour#4)") == 0


def test_outer_lists() -> None:
    """Inner brackets are part of the text."""
    assert lists("[a, f(b)[0]], [c]") == ["a, f(b)[0]", "c"]
    assert lists("none") == []


def test_an_empty_print_has_no_node() -> None:
    """The root has no name then."""
    assert parse_tree("").name == ""
