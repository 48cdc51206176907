"""The columns of state are read from Spark's schema files, the windows from ours; after damage they are unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blueprint.comparison import DescribedLogic, DescribedOperator, DescribedStore
from blueprint.comparison.descriptor import OperatorLogic
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.checkpoints.compatibility import (
    CheckpointMisfitError,
    require_compatible,
    require_same_logic,
    store_windows,
)
from streamlets.runner.checkpoints.state_columns import recorded_logic, state_of, windows_of, write_windows
from streamlets.spark.plan_tree import parse_tree
from tests.streamlets.runner.checkpoints.test_compatibility import AGGREGATE, PLAIN, checkpoint


def field(name: str, type: object) -> dict[str, object]:
    """A field of Spark's JSON."""
    return {"name": name, "type": type, "nullable": True, "metadata": {}}


WINDOW = {"type": "struct", "fields": [field("start", "timestamp"), field("end", "timestamp")]}
KEY = {"type": "struct", "fields": [field("window", WINDOW), field("key", "string")]}
TAGS = {"type": "array", "elementType": "string", "containsNull": True}
COUNTS = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
VALUE = {"type": "struct", "fields": [field("tags", TAGS), field("counts", COUNTS)]}
STORE = DescribedStore(
    (("window", {"struct": [["start", "timestamp"], ["end", "timestamp"]]}), ("key", "string")),
    (("tags", {"array": "string"}), ("counts", {"map": ["string", "long"]})),
)


def text(words: str) -> bytes:
    """Encode a string as Java's `writeUTF` does."""
    data = words.encode()
    return len(data).to_bytes(2, "big") + data


def pieces(words: str, size: int) -> bytes:
    """Encode a string as a number of pieces and the pieces."""
    cut = [words[start : start + size] for start in range(0, len(words), size)]
    return len(cut).to_bytes(4, "big") + b"".join(map(text, cut))


V1 = text("v1") + text(json.dumps(KEY)) + text(json.dumps(VALUE))
V2 = text("v2") + pieces(json.dumps(KEY), 50) + pieces(json.dumps(VALUE), 50)


def schema(directory: Path, data: bytes, store: str = "") -> None:
    """Write the schema file of the first partition of operator 0."""
    file = directory / "state" / "0" / "0" / store / "_metadata" / "schema"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)


@pytest.mark.parametrize("data", [V1, V2])
def test_columns_are_read_in_both_versions(tmp_path: Path, data: bytes) -> None:
    """Keys and values, with structures, arrays and maps."""
    found = checkpoint(tmp_path, "stateStoreSave")
    schema(found.directory, data)
    assert state_of(found.directory) == (DescribedOperator("stateStoreSave", {"default": STORE}),)


def test_a_join_has_several_stores(tmp_path: Path) -> None:
    """They have the names that Spark gives them."""
    found = checkpoint(tmp_path, "symmetricHashJoin")
    for store in ("left-keyToNumValues", "right-keyToNumValues"):
        schema(found.directory, V2, store)
    (operator,) = state_of(found.directory)
    assert operator.stores == {"left-keyToNumValues": STORE, "right-keyToNumValues": STORE}


@pytest.mark.parametrize("data", [b"", V2[:40], V1[:-1], text("v3") + V2, text("v1") + text("{}") * 2, b"\xff" * 40])
def test_columns_that_cannot_be_read_are_unknown(tmp_path: Path, data: bytes) -> None:
    """The schema file is damaged, or of a later version; the operator is known all the same."""
    found = checkpoint(tmp_path, "stateStoreSave")
    schema(found.directory, data)
    assert state_of(found.directory) == (DescribedOperator("stateStoreSave", None),)


def windowed(length: int) -> str:
    """Return the plan of an aggregation by windows, as Spark prints it."""
    start = f"((precisetimestampconversion(at#1, TimestampType, LongType) - 0) % {length}) END) - 0)"
    window = (
        f"named_struct(start, knownnullable(precisetimestampconversion({start}, LongType, TimestampType)), end, "
        f"knownnullable(precisetimestampconversion(({start} + {length}), LongType, TimestampType)))"
    )
    source = "+- ~StreamingRelationV2 rate, [at#1]"
    return f"~Aggregate [window#3], [window#3, count(1) AS n#4L]\n+- ~Project [{window} AS window#3]\n   {source}"


def test_windows_are_stored_when_a_query_starts_and_stay(tmp_path: Path) -> None:
    """A query with other windows is refused: Spark would mix them silently."""
    fresh = checkpoint(tmp_path, "stateStoreSave", committed=-1)
    store_windows(fresh, parse_tree(windowed(10_000_000)))
    assert windows_of(fresh.directory) == ("window 10000000 10000000 0",)
    started = checkpoint(tmp_path / "started", "stateStoreSave")
    write_windows(started.directory, ("window 10000000 10000000 0",))
    require_compatible(started, parse_tree(windowed(10_000_000)), source_evolution=True)
    store_windows(started, parse_tree(windowed(60_000_000)))
    assert windows_of(started.directory) == ("window 10000000 10000000 0",)
    with pytest.raises(CheckpointMisfitError, match="windows of 10 s and is now grouped by windows of 60 s"):
        require_compatible(read_checkpoint(started.directory), parse_tree(windowed(60_000_000)), source_evolution=True)


def test_windows_of_an_older_checkpoint_are_unknown(tmp_path: Path) -> None:
    """The query continues, and its windows are stored then; a query without state has none."""
    older = checkpoint(tmp_path, "stateStoreSave")
    require_compatible(older, parse_tree(windowed(10_000_000)), source_evolution=True)
    store_windows(older, parse_tree(AGGREGATE))
    assert windows_of(older.directory) == ()
    plain = checkpoint(tmp_path / "plain")
    store_windows(plain, parse_tree(PLAIN))
    assert windows_of(plain.directory) is None


def test_logic_is_recorded_when_a_query_starts_and_compared(tmp_path: Path) -> None:
    """Another key is refused; another filter and logic that was not recorded are warnings, and are recorded then."""

    def logic(key: str, rule: str = "filter a") -> DescribedLogic:
        return DescribedLogic((OperatorLogic("stateStoreSave", (("key", key),)),), (rule,))

    fresh = checkpoint(tmp_path, "stateStoreSave", committed=-1)
    assert require_same_logic(fresh, logic("in.k")) == ""
    started = checkpoint(tmp_path / "started", "stateStoreSave")
    assert "cannot be compared" in require_same_logic(started, logic("in.k"))
    assert require_same_logic(started, logic("in.k")) == ""
    with pytest.raises(CheckpointMisfitError, match=r"key of an aggregation was `in\.k`, and is now `in\.g`"):
        require_same_logic(started, logic("in.g"))
    assert "`filter a` is now `filter b`" in require_same_logic(started, logic("in.k", "filter b"))
    assert recorded_logic(started.directory) == logic("in.k", "filter b")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"operators": [{"operator": 1}]}', '{"rules": "a"}', "\0"])
def test_damaged_logic_is_unknown(tmp_path: Path, text: str) -> None:
    """A cut or foreign file is like none, and not an error."""
    started = checkpoint(tmp_path, "stateStoreSave")
    (started.directory / "logic.json").write_text(text)
    assert recorded_logic(started.directory) is None
    assert "cannot be compared" in require_same_logic(started, DescribedLogic())
    assert recorded_logic(started.directory) == DescribedLogic()
