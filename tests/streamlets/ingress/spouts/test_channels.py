"""Transactions of spouts on every channel: whole, with markers, and fenced by a higher epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.plan import OutletPlan, StreamletPlan
from streamlets.channels.base import WriterFencedError
from streamlets.ingress.spouts.codecs import Row
from streamlets.ingress.spouts.writer import RefusedError, TransactionWriter
from streamlets.testkit.channels import ChannelBench
from tests.streamlets.channels.topics import READING, made


def test_transactions(channel_bench: ChannelBench) -> None:
    """What is refused or fenced publishes nothing; the marker is that of the last transaction."""
    topic = channel_bench.topic("readings")
    outlet = OutletPlan("feed", "out", None, READING, "readings")
    plan = StreamletPlan(
        ref="feed",
        class_name="",
        descriptor=None,  # type: ignore[arg-type]
        outlets=(outlet,),
    )

    def rows(*ids: object) -> list[Row]:
        return [Row({"id": id, "src": "a"}, f"record {number}") for number, id in enumerate(ids, 1)]

    with TransactionWriter(plan, {"readings": topic}, 1) as old:
        assert old.marker is None
        assert old.commit_rows(outlet, rows(1, 2), b"first").records == 2
        with pytest.raises(RefusedError, match="record 2"):
            old.commit_rows(outlet, rows(3, "x"), b"refused")
        with TransactionWriter(plan, {"readings": topic}, 2) as new:
            assert new.marker == b"first"
            assert new.commit_rows(outlet, rows(4), b"second").records == 1
            with pytest.raises(WriterFencedError):
                old.commit_rows(outlet, rows(5), b"fenced")
            assert new.commit_rows(outlet, rows(6), None).records == 1
            assert new.marker == b"second"
    assert [row["id"] for batch in topic.scan() for row in batch.to_pylist()] == [1, 2, 4, 6]


def test_dead_letters_have_the_version_of_the_application(tmp_path: Path) -> None:
    """The version that the run has given to the plan of the spout."""
    outlet = OutletPlan("feed", "out", None, READING, "readings", on_invalid="dead-letters")
    descriptor: Any = None
    plan = StreamletPlan(
        ref="feed", class_name="", descriptor=descriptor, outlets=(outlet,), dead_letters="letters", version="1.2"
    )
    topics = {name: made(tmp_path, name) for name in ("readings", "letters")}
    with TransactionWriter(plan, topics, 1) as writer:
        writer.commit_rows(outlet, [Row({"id": "x"}, "record 1")], None)
    (letter,) = [row for batch in topics["letters"].scan() for row in batch.to_pylist()]
    assert (letter["coordinates"], letter["version"]) == ("spout/record 1", "1.2")
