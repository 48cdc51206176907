"""Which schemas an inlet knows, from which offset on."""

from __future__ import annotations

from pathlib import Path

from streamlets.channels.kafka.horizon import MOST_UNKNOWN, Horizon, StoredHorizon


def test_all_schemas_are_known_at_first() -> None:
    """There is no earlier decision."""
    assert Horizon().advanced(["a", "b"], {0: 7}) == Horizon({"a": {}, "b": {}}, frozenset(), {0: 7})


def test_a_new_schema_is_known_from_the_last_end_on() -> None:
    """Earlier messages that name it are dead letters already; later ones stopped the query."""
    horizon = Horizon().advanced(["a"], {0: 7}).advanced(["a", "b"], {0: 9, 1: 2})
    assert horizon == Horizon({"a": {}, "b": {0: 7}}, frozenset(), {0: 9, 1: 2})
    assert horizon.advanced(["a", "b"], {0: 11, 1: 4}).known == horizon.known


def test_a_schema_of_dead_letters_is_known_from_the_end_on() -> None:
    """Messages that name it were dead letters until now, wherever they are."""
    horizon = Horizon().advanced(["a"], {0: 7}).with_unknown(["b", "a"])
    assert horizon.unknown == {"b"}
    assert horizon.advanced(["a", "b"], {0: 9}) == Horizon({"a": {}, "b": {0: 9}}, frozenset(), {0: 9})


def test_the_number_of_unknown_headers_is_limited() -> None:
    """Random headers do not fill the file."""
    assert len(Horizon().with_unknown(map(str, range(MOST_UNKNOWN * 2))).unknown) == MOST_UNKNOWN


def test_a_horizon_is_stored_for_its_topic(tmp_path: Path) -> None:
    """That of an earlier topic with the name is ignored."""
    horizon = Horizon().advanced(["a"], {0: 7}).advanced(["a", "b"], {0: 9}).with_unknown(["c"])
    stored = StoredHorizon(tmp_path / "reader" / "in.json", "first")
    assert stored.read() == Horizon()
    stored.write(horizon)
    assert stored.read() == horizon
    assert StoredHorizon(stored.path, "second").read() == Horizon()
