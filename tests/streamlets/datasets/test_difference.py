"""Comparing records: against a comparison in memory, with random records."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.avro import parse_contract
from streamlets.datasets.difference import compare
from tests.random_examples import examples

CONTRACT = parse_contract(
    json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "id", "type": ["null", "int"]},
                {"name": "text", "type": "string"},
                {"name": "more", "type": {"type": "map", "values": "int"}},
            ],
        }
    )
)
_RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.none() | st.integers(0, 3),
            "text": st.sampled_from(["", "a", "b", '"']),
            "more": st.permutations([("x", 1), ("y", 2)]),
        }
    ),
    max_size=12,
)


def rows(*pairs: tuple[int | None, str]) -> list[dict[str, Any]]:
    """Return records with these ids and texts."""
    return [{"id": id, "text": text, "more": []} for id, text in pairs]


def test_the_same_records_in_another_order() -> None:
    """Neither their order matters nor the order of the pairs of a map."""
    left = [{"id": 1, "text": "a", "more": [("x", 1), ("y", 2)]}, *rows((2, "b"))]
    right = [*rows((2, "b")), {"id": 1, "text": "a", "more": [("y", 2), ("x", 1)]}]
    found = compare(left, right, CONTRACT)
    assert found.same
    assert (found.left, found.right, found.equal, found.first) == (2, 2, 2, ())


def test_records_with_a_key() -> None:
    """A record with another value is different, not missing and added."""
    found = compare(rows((1, "a"), (2, "b"), (3, "c")), rows((1, "a"), (2, "x"), (4, "d")), CONTRACT, by=["id"])
    assert not found.same
    assert (found.equal, found.different, found.only_left, found.only_right) == (1, 1, 1, 1)
    different, missing, added = found.first
    assert (different.key, different.left, different.right) == (
        {"id": 2}, {"id": 2, "text": "b", "more": {}}, {"id": 2, "text": "x", "more": {}},
    )  # fmt: skip
    assert missing.right is None
    assert added.left is None


def test_records_that_are_there_twice() -> None:
    """A doubled record is found, with a key and without one."""
    for by in ([], ["id"]):
        found = compare(rows((1, "a")), rows((1, "a"), (1, "a")), CONTRACT, by=by)
        assert (found.equal, found.different, found.only_left, found.only_right) == (1, 0, 0, 1)


def test_columns_that_do_not_matter() -> None:
    """They are neither compared nor shown."""
    found = compare(rows((1, "a")), rows((1, "b")), CONTRACT, by=["id"], ignored=["text"])
    assert found.same
    found = compare(rows((1, "a")), rows((2, "b")), CONTRACT, ignored=["text"])
    assert found.first[0].left == {"id": 1, "more": {}}


def test_all_differences_count_although_few_are_shown() -> None:
    """Also those with one key."""
    found = compare(rows(*[(1, str(n)) for n in range(30)]), rows(*[(1, f"x{n}") for n in range(40)]), CONTRACT,
                    by=["id"], limit=3)  # fmt: skip
    assert (found.different, found.only_left, found.only_right, len(found.first)) == (30, 0, 10, 3)
    assert compare(rows((1, "a")), [], CONTRACT, limit=0).first == ()


@settings(max_examples=examples(200), deadline=None)
@given(_RECORDS, _RECORDS, st.sampled_from([[], ["id"], ["text", "id"], ["id", "text", "more"]]), st.integers(0, 30))
def test_random_records(left: list[Any], right: list[Any], by: list[str], limit: int) -> None:
    """The counts are those of multisets in memory, and everything is shown if there is room."""

    def count(records: list[Any]) -> Counter[str]:
        return Counter(json.dumps({**row, "more": dict(row["more"])}, sort_keys=True) for row in records)

    def by_key(counts: Counter[str]) -> Counter[str]:
        keys = Counter[str]()
        for text, number in counts.items():
            keys[json.dumps([json.loads(text)[name] for name in by])] += number
        return keys

    ours, theirs = count(left), count(right)
    missing, added = ours - theirs, theirs - ours
    found = compare(left, right, CONTRACT, by=by, limit=limit)
    pairs = sum((by_key(missing) & by_key(added)).values()) if by else 0
    assert (found.left, found.right) == (len(left), len(right))
    assert found.equal == sum((ours & theirs).values())
    assert found.different == pairs
    assert found.only_left == sum(missing.values()) - pairs
    assert found.only_right == sum(added.values()) - pairs
    total = found.different + found.only_left + found.only_right
    assert len(found.first) == min(limit, total)
    if total <= limit:
        assert count([{**one.left, "more": one.left["more"].items()} for one in found.first if one.left]) == missing
        assert count([{**one.right, "more": one.right["more"].items()} for one in found.first if one.right]) == added
