"""Windows and renamed columns are read from plans as Spark 4.3 prints them."""

from __future__ import annotations

import pytest

from streamlets.spark.plan_tree import parse_tree
from streamlets.spark.plan_windows import aliases, windows

SOURCE = 'StreamingRelation FileSource[/in], [id#0L, at#1, key#2], name="a"'
AT = "precisetimestampconversion(at#1-T10000ms, TimestampType, LongType)"


def start(slide: int, offset: int) -> str:
    """The beginning of a window, as arithmetic."""
    return (
        f"({AT} - CASE WHEN ((({AT} - {offset}) % {slide}) < cast(0 as bigint)) THEN ((({AT} - {offset}) % {slide}) + "
        f"{slide}) ELSE (({AT} - {offset}) % {slide}) END) - 0)"
    )


def window(length: int, slide: int, offset: int) -> str:
    """A window, as Spark resolves it."""
    first, last = start(slide, offset), f"({start(slide, offset)} + {length})"
    converted = "knownnullable(precisetimestampconversion({}, LongType, TimestampType))"
    return f"named_struct(start, {converted.format(first)}, end, {converted.format(last)})"


SESSION = (
    f"named_struct(start, precisetimestampconversion({AT}, LongType, TimestampType), end, knownnullable("
    "precisetimestampconversion(precisetimestampconversion(cast(at#1-T10000ms + cast({gap} as interval) as timestamp), "
    "TimestampType, LongType), LongType, TimestampType))) AS session_window#25-T10000ms"
)


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (f"~Project [{window(10_000_000, 10_000_000, 0)} AS window#11-T10000ms, id#0L]", "window 10000000 10000000 0"),
        (f"~Expand [[{window(10_000_000, 5_000_000, 1_000_000)}, id#0L]]", "window 10000000 5000000 1000000"),
        (f"~Project [{SESSION.format(gap='10 seconds')}, id#0L]", "gap 10 seconds"),
        (
            f"~Project [{SESSION.format(gap='CASE WHEN (key#2 = a) THEN 5 seconds ELSE 7 seconds END')}]",
            "gap CASE WHEN (key = a) THEN 5 seconds ELSE 7 seconds END",
        ),
    ],
)
def test_windows_are_read_from_their_arithmetic(node: str, found: str) -> None:
    """Length, slide and start in microseconds; a gap as its expression, without the numbers of its columns."""
    assert windows(parse_tree(f"{node}\n+- {SOURCE}")) == (found,)


def test_windows_of_tables_are_not_a_streams() -> None:
    """Nor is any in a plan without one."""
    assert windows(parse_tree(f"Project [{window(10, 10, 0)} AS window#11]\n+- LocalRelation [at#1]")) == ()
    assert windows(parse_tree(f"~Project [id#0L]\n+- {SOURCE}")) == ()


def test_a_renamed_column_has_all_its_names() -> None:
    """A column that is computed is another one."""
    text = (
        "~Aggregate [b#7], [b#7, count(1) AS n#8L]\n"
        "+- ~Project [a#5 AS b#7, (id#0L + 1) AS c#9L]\n"
        f"   +- ~Project [key#2 AS a#5, id#0L]\n      +- {SOURCE}"
    )
    assert aliases(parse_tree(text)) == {"a": ("key",), "b": ("a", "key")}
