"""Which records of which versions a file holds: read back as it was written, and in little room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamlets.channels.delta.segments import Segment, Segments

_NUMBERS = st.integers(0, 10**15)


@given(st.lists(st.builds(Segment, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)))
def test_segments_come_back(segments: list[Segment]) -> None:
    """Whatever they are: all of them, how many, the first and the last, from the text that the log keeps, too."""
    packed = Segments.of(segments)
    assert Segments.from_text(packed.to_text()) == packed
    assert list(packed) == segments
    assert len(packed) == len(segments)
    if segments:
        assert (packed.first, packed.last) == (segments[0], segments[-1])


def test_a_commit_after_the_other_takes_some_letters() -> None:
    """Thousands of commits that bring as many records each, every second or two, are short: the log repeats them with
    each checkpoint, and a runner has them in memory."""
    packed = Segments.of(Segment(n, 0, 20, 1_790_000_000_000 + 2003 * n) for n in range(5, 1005))
    assert len(packed.to_text()) < 1000 * 8 + 100
    assert packed.to_text().startswith("1000;1004:0:20:1790002011012;20:1790000010015:5,20:2003,20:2003,")
