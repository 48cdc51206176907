"""`read_samples`: the samples of an application, for curves of the last hour and day."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from streamlets.runner.samples.ring import COARSE, FINE, Ring
from streamlets.runner.samples.sample import Sample, samples_of
from streamlets.runner.state_directory.directory import StateDirectory


def read_samples(state: StateDirectory, since: float = 0.0) -> tuple[Sample, ...]:
    """Return the samples of an application, the oldest first, whether it runs or not.

    There is one in about 5 seconds for each unit over the last hour, and one in a minute over the last day. A restart
    does not lose them. While the application does not run, there are none. Samples in damaged files are omitted. When
    the clock was set back, samples whose times have come again are omitted.

    Arguments:
        state: the state directory of the application.
        since: the earliest time, in seconds since the epoch.
    """
    fine = _samples(Ring(state.samples, FINE).lines())
    coarse = _samples(Ring(state.samples, COARSE).lines())
    times = [sample.time for sample in fine]
    earlier = [sample for sample in coarse if not _has_between(times, sample.time - COARSE.interval, sample.time)]
    found = sorted((*earlier, *fine), key=lambda sample: sample.time)
    return tuple(sample for sample in found if sample.time >= since)


def _samples(lines: Iterable[str]) -> list[Sample]:
    samples: list[Sample] = []
    for line in lines:
        added = samples_of(line)
        while added and samples and samples[-1].time >= added[0].time:  # the clock was set back
            samples.pop()
        samples += added
    return samples


def _has_between(times: list[float], after: float, until: float) -> bool:
    """Return whether one of the sorted times is in an interval."""
    index = bisect_right(times, until)
    return index > 0 and times[index - 1] > after
