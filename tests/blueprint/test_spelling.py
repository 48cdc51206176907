"""What a misspelt name was meant to be."""

import pytest

from blueprint.spelling import alternatives, did_you_mean, listing, near, suggestion


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("readngs", ["readings", "averages"], ("readings",)),
        ("raedings", ["readings"], ("readings",)),
        ("Max_Records", ["max-records"], ("max-records",)),
        ("readings2", ["readings", "reading"], ("readings", "reading")),
        ("in", ["out", "on"], ("on",)),
        ("left", ["right"], ()),
        ("readings", ["readings"], ()),
        ("", ["in"], ()),
        ("param", ["parameters"], ("parameters",)),
    ],
)
def test_near_names_come_best_first(name: str, candidates: list[str], expected: tuple[str, ...]) -> None:
    """One edit in three characters is near, as are other cases and beginnings; the name itself is not."""
    assert near(name, candidates) == expected


def test_at_most_three_are_named() -> None:
    """A help line stays short."""
    assert len(near("aaa", ["aab", "aac", "aad", "aae"])) == 3


def test_nothing_near_gives_no_help() -> None:
    """No guess is better than a wild one."""
    assert did_you_mean("xyz", ["readings"]) == ()
    assert did_you_mean("readngs", ["readings"]) == ("did you mean `readings`?",)


def test_names_are_joined_as_one_says_them() -> None:
    """Commas, and a word before the last."""
    assert alternatives(["a", "b", "c"]) == "`a`, `b` or `c`"
    assert listing(["a", "b"]) == "`a` and `b`"
    assert listing(["a"]) == "`a`"


def test_a_suggestion_says_what_there_is_where_nothing_is_near() -> None:
    """The nearest name, else what the caller says instead, else all names, else that there are none."""
    names = ["readings", "orders"]
    assert suggestion("readngs", names, "see the list") == "did you mean `readings`?"
    assert suggestion("xyz", names, "see the list") == "see the list"
    assert suggestion("xyz", iter(names)) == "available: readings, orders"
    assert suggestion("xyz", ()) == "available: none"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("parkay", "parquet"), ("parkett", "parquet"), ("kafqa", "kafka"), ("webhuk", "webhook"), ("delta-lake", "delta")],
)
def test_names_that_are_known_by_their_sound_are_recognized(name: str, meant: str) -> None:
    """The first sound is the same, and at most one further consonant differs."""
    sinks = ["parquet", "orc", "kafka", "webhook", "delta", "json", "csv", "text", "console", "noop", "jdbc"]
    assert did_you_mean(name, sinks, heard=True) == (f"did you mean `{meant}`?",)


@pytest.mark.parametrize("name", ["xyz", "s3", "", "mongodb", "printer", "spark", "-"])
def test_other_names_sound_like_none(name: str) -> None:
    """No guess is better than a wild one."""
    assert did_you_mean(name, ["parquet", "orc", "kafka", "webhook", "delta", "json", "csv", "text"], heard=True) == ()
