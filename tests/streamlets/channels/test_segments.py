"""Segments are stored and read back, in a compact form."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamlets.channels.delta.segments import Segment, Segments

_NUMBERS = st.integers(0, 10**15)


@given(st.lists(st.builds(Segment, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)))
def test_segments_survive_a_round_trip(segments: list[Segment]) -> None:
    """All segments, their number, the first and the last one are the same after a round trip through the log's text."""
    packed = Segments.of(segments)
    assert Segments.from_text(packed.to_text()) == packed
    assert list(packed) == segments
    assert len(packed) == len(segments)
    if segments:
        assert (packed.first, packed.last) == (segments[0], segments[-1])


def test_an_entry_of_a_regular_commit_is_short() -> None:
    """Regular commits take about eight bytes each, because each checkpoint repeats them, and the runner has them in
    memory."""
    packed = Segments.of(Segment(n, 0, 20, 1_790_000_000_000 + 2003 * n) for n in range(5, 1005))
    assert len(packed.to_text()) < 1000 * 8 + 100
    assert packed.to_text().startswith("1000;1004:0:20:1790002011012;20:1790000010015:5,20:2003,20:2003,")
