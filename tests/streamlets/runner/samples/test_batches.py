"""The last batches of an application in its state directory."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.samples.batches import BATCHES, read_batches
from streamlets.runner.samples.view import SampleView
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.state_directory.files import kind_of

PHASES = {"offsets": 0.012, "planning": 0.041, "executing": 0.388, "publishing": 0.052, "committing": 0.061}


def _batch(number: int, unit: UnitId, phases: dict[str, float] | None = None) -> UnitProgressed:
    return UnitProgressed(
        1_800_000_000.0 + number, unit, number, 10, seconds=0.5, phases=PHASES if phases is None else phases
    )


def _run(state: StateDirectory, *events: Event) -> None:
    with SampleView(state) as view:
        for event in events:
            view.event(event, RunStatus())


def test_batches_of_several_runs_are_kept_by_query(tmp_path: Path) -> None:
    """In their order, the last ones; what a spout has done is not a batch, and damaged lines are omitted."""
    state = StateDirectory(tmp_path, "plant")
    one, two = UnitId("mean", "one"), UnitId("mean", "two")
    _run(state, *(_batch(number, one) for number in range(4)), UnitChanged(1.0, one, "running"))
    (file,) = state.samples.iterdir()
    assert kind_of(PurePosixPath(file.relative_to(state.directory))) == kind_of(
        PurePosixPath("status/samples/fine-0.jsonl")
    )
    with file.open("a") as lines:
        lines.write('[1,"mean"\n{}\n[1,"mean","one","x",1,1,{}]\n')
    _run(
        state, _batch(4, one), _batch(7, two, {}), _batch(1, UnitId("other", "one")), UnitProgressed(1.0, one, None, 5)
    )
    stored = read_batches(state, "mean", 3)
    assert [batch.number for batch in stored["one"]] == [2, 3, 4]
    assert stored["one"][0].phases == PHASES
    assert (stored["one"][0].seconds, stored["one"][0].rows, stored["one"][0].unit) == (0.5, 10, one)
    assert [(batch.number, batch.phases) for batch in stored["two"]] == [(7, {})]
    assert read_batches(state, "nobody", 3) == {}


def test_the_files_have_a_limit(tmp_path: Path) -> None:
    """However many batches there are; the documentation says how many bytes they need."""
    state, unit = StateDirectory(tmp_path, "plant"), UnitId("average_of_readings", "averages")
    for start in range(0, 12_000, 1_000):
        _run(state, *(_batch(number, unit) for number in range(start, start + 1_000)))
    size = sum(file.stat().st_size for file in state.samples.iterdir())
    assert size < 1.5e6
    (batches,) = read_batches(state, unit.streamlet, 100_000).values()
    assert batches[-1].number == 11_999
    assert BATCHES.lines * (BATCHES.files - 1) <= len(batches) <= BATCHES.most
    page = (Path(__file__).parents[4] / "docs" / "page.md").read_text(encoding="utf-8")
    assert "at most 1.5 MB" in page


def test_a_full_disk_loses_batches_and_nothing_else(tmp_path: Path) -> None:
    """The next ones are written."""
    state = StateDirectory(tmp_path, "plant")
    state.samples.parent.mkdir(parents=True)
    state.samples.touch()
    _run(state, _batch(0, UnitId("mean", "one")))
    state.samples.unlink()
    _run(state, _batch(1, UnitId("mean", "one")))
    assert [batch.number for batch in read_batches(state, "mean", 10)["one"]] == [1]
