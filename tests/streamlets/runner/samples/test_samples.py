"""The samples of the last hour and day in the state directory."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import pytest

from streamlets.runner.events.event import fold
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.samples import view
from streamlets.runner.samples.batches import BATCHES
from streamlets.runner.samples.reading import read_samples
from streamlets.runner.samples.ring import COARSE, FINE, RESOLUTIONS, Ring
from streamlets.runner.samples.sample import Sample, line_of, samples_of
from streamlets.runner.samples.view import SampleView
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.state_directory.files import kind_of

MEAN = UnitId("mean", "out")
BEGIN = 1_800_000_000.0


@dataclass
class Run:
    """A run whose thread of samples is called by the test."""

    state: StateDirectory
    clock: float = BEGIN
    timer: float = 100.0
    status: RunStatus = field(default_factory=RunStatus)
    rows: int = 0

    def __post_init__(self) -> None:
        self.started()

    def started(self) -> None:
        """Begin a run, which counts from 0."""
        self.status = fold(RunStatus(), RunStarted(self.clock, "plant", ("mean",)))
        self.status = fold(self.status, UnitChanged(self.clock, MEAN, "running"))
        self.view = SampleView(self.state, lambda: self.clock, lambda: self.timer)

    def goes_on(self, seconds: float, rows: int = 0) -> None:
        """Let time pass, then read rows and take a sample."""
        self.clock, self.timer = self.clock + seconds, self.timer + seconds
        batch = UnitProgressed(
            self.clock, MEAN, 3, rows, {"out": rows // 2}, backlog={"in": 7}, seconds=1.25, state_rows=42,
            watermark="2027-01-15T08:00:00.000Z",
        )  # fmt: skip
        self.status = fold(self.status, batch)
        self.view.event(batch, self.status)
        self.view.take()

    def files(self) -> list[Path]:
        """Return the files of samples, sorted."""
        return sorted(file for file in self.state.samples.iterdir() if not file.name.startswith(BATCHES.name))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run without samples."""
    return Run(StateDirectory(tmp_path, "plant"))


def test_a_sample_has_the_rates_since_the_last_one(run: Run) -> None:
    """Everything else is as of its time."""
    run.goes_on(5.0, rows=100)
    run.goes_on(5.0, rows=30)
    first, second = read_samples(run.state)
    assert second == Sample(
        time=BEGIN + 10, streamlet="mean", query="out", rate_in=6.0, rate_out=3.0, backlog=7, busy=0.25,
        watermark_delay=10.0, state_rows=42, batch_seconds=1.25,
    )  # fmt: skip
    assert (first.rate_in, second.unit) == (20.0, MEAN)
    assert read_samples(run.state, since=BEGIN + 7) == (second,)


def test_a_day_is_kept_with_few_lines(run: Run) -> None:
    """The last hour has a sample in 5 seconds, the day before one in a minute, and the files stay few."""
    for seconds in [60] * 30 * 60 + [5] * 2 * 720:
        run.goes_on(seconds, rows=seconds)
    samples = read_samples(run.state)
    gaps = {round(after.time - before.time) for before, after in itertools.pairwise(samples)}
    last_hour = [sample for sample in samples if sample.time > run.clock - 3600]
    assert len(last_hour) == 720
    assert samples[0].time <= run.clock - 24 * 3600
    assert gaps <= {5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60}
    assert {round(sample.rate_in, 2) for sample in samples} == {1.0}
    assert len(samples) <= FINE.most + COARSE.most
    assert len(run.files()) <= FINE.files + COARSE.files


def test_the_files_of_many_units_have_a_bound() -> None:
    """A unit needs at most 150 bytes and its names in each line, whatever the numbers: 0.4 MB for all lines."""
    lines = sum(resolution.most for resolution in RESOLUTIONS)
    for value in (0.0, 1 / 3, 123456.789, 1e14 / 3, 1e300, 5e-324, 9_999_999_999_999):
        numbers = dict.fromkeys(
            ("rate_in", "rate_out", "backlog", "busy", "watermark_delay", "state_rows", "batch_seconds"), value
        )
        units = [Sample(time=BEGIN, streamlet=f"s{n:03}", query="out", **numbers) for n in range(100)]
        line = line_of(BEGIN, units)
        assert len(line) <= 20 + 100 * (150 + 7)
        assert lines * 157 <= 0.4e6
        assert len(samples_of(line)) == 100
    assert FINE.least_seconds >= 3600
    assert COARSE.least_seconds >= 24 * 3600


def test_a_restart_goes_on_with_the_files(run: Run) -> None:
    """Its counts begin at 0 again, and no rate is negative; there is a gap while nothing ran."""
    run.goes_on(5.0, rows=100)
    run.clock += 600
    run.started()
    run.goes_on(5.0, rows=20)
    assert [(sample.time - BEGIN, sample.rate_in) for sample in read_samples(run.state)] == [(5, 20.0), (610, 4.0)]
    assert [file.name for file in run.files()] == ["fine-0.jsonl"]


def test_a_slow_thread_takes_no_samples_later(run: Run) -> None:
    """After a sleep of the machine, one sample has the rows of the whole time."""
    run.goes_on(5.0)
    run.goes_on(500.0, rows=1000)
    run.goes_on(1.0)
    run.goes_on(4.0)
    assert [sample.rate_in for sample in read_samples(run.state) if sample.rate_in] == [2.0]


@pytest.mark.parametrize("jump", [-7200.0, -60.0, 60.0, 7200.0])
def test_a_clock_that_is_set_does_not_break_the_samples(run: Run, jump: float) -> None:
    """The times are in order, rates are those of the time that has passed, and the files do not grow."""
    for step in range(2000):
        if step in (300, 900):
            run.clock += jump
        run.goes_on(5.0, rows=10)
    samples = read_samples(run.state)
    times = [sample.time for sample in samples]
    assert times == sorted(times)
    assert times[-1] == run.clock
    assert {sample.rate_in for sample in samples} == {2.0}
    assert len(run.files()) <= FINE.files + COARSE.files


DAMAGES = {
    "missing": None,
    "empty": b"",
    "cut": b'[1800000000,[["mean","o',
    "not text": bytes(range(256)) * 8,
    "other JSON": b'{"application": "another", "version": 1}\n[1, 2]\n[1, [3]]\n[1, [["a"]]]\n[1,[["a","b",true]]]\n'
    b'[NaN,[["a","b",1]]]\n[1,[["a","b",1e999]]]\nnull\n[[[[\n' + b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_costs_its_samples(run: Run, how: str) -> None:
    """The samples in the other files are read, the run writes on, and the damaged file is deleted in its turn."""
    for _ in range(300):
        run.goes_on(5.0)
    whole = len(read_samples(run.state))
    for file in run.files():
        before = file.read_bytes()
        data = DAMAGES[how]
        file.unlink() if data is None else file.write_bytes(data)
        assert whole - 121 <= len(read_samples(run.state)) <= whole
        run.goes_on(5.0)
        assert read_samples(run.state)[-1].time == run.clock, file
        whole += 1
        if not file.exists() or file.read_bytes() == data:
            file.write_bytes(before)


def test_a_directory_that_cannot_be_written(run: Run) -> None:
    """The samples are lost, the run is not; later ones are written again."""
    run.state.samples.parent.mkdir(parents=True)
    run.state.samples.write_text("a file in its place")
    run.goes_on(5.0)
    assert read_samples(run.state) == ()
    run.state.samples.unlink()
    run.goes_on(5.0)
    assert len(read_samples(run.state)) == 1


def test_the_files_are_known(run: Run) -> None:
    """They are in the table of the files of a state directory."""
    run.goes_on(60.0)
    kinds = {kind_of(PurePosixPath(file.relative_to(run.state.directory).as_posix())) for file in run.files()}
    assert [kind.name for kind in kinds if kind is not None] == ["samples"]


def test_only_the_last_line_of_a_killed_run_can_be_torn(run: Run) -> None:
    """The next run begins a new line."""
    ring = Ring(run.state.samples, FINE)
    ring.append('[1800000000,[["mea')
    run.goes_on(5.0)
    assert len(read_samples(run.state)) == 1


def test_a_view_takes_samples_while_it_is_entered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread does, also if nothing happens."""
    monkeypatch.setattr(view, "FINE", replace(FINE, interval=0.01))
    run.timer, pause = run.timer + 5, threading.Event()
    with run.view:
        run.view.event(RunStarted(0.0, "plant", ()), run.status)
        assert any(read_samples(run.state) or pause.wait(0.01) for _ in range(30_000))
