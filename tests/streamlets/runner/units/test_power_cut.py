"""A power cut that empties the plan of a batch: the writer of the batch decides whether it may be planned again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamlets import AvroInlet, AvroOutlet, Queries, Sink, SparkStreamlet, SparkStreamletLogic
from streamlets.api.context import StreamingWrite
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.runner.checkpoints.repair import DamagedCheckpointError, repair, require_complete
from streamlets.runner.units.site import drops_known_batches, may_have_written
from streamlets.testkit import StreamletUnderTest, Testkit

pytestmark = pytest.mark.spark

READING = "src string"


class Own(SparkStreamlet):
    """A sink of the author's own, without a record of what it has written."""

    rows = AvroInlet("in", schema=READING)

    class Logic(SparkStreamletLogic["Own"]):
        """One query."""

        def build_streaming_queries(self) -> Queries:
            """Discard the rows."""
            return self.query("sink", self.read_stream(self.streamlet.rows).writeStream.format("noop"))


class Copy(SparkStreamlet):
    """Records to a topic."""

    rows = AvroInlet("in", schema=READING)
    sink = AvroOutlet(schema=READING)

    class Logic(SparkStreamletLogic["Copy"]):
        """One query."""

        def build_streaming_queries(self) -> Queries:
            """Copy the rows."""
            return self.write_stream(self.read_stream(self.streamlet.rows), self.streamlet.sink)


def _sink(to: str) -> Callable[[Testkit], StreamletUnderTest]:
    options = {"path": to} if to != "terminal" else {}
    return lambda kit: kit.streamlet(
        Sink, ref=to, parameters={"to": to, "options": options}, schemas={"in": READING}, real=to == "terminal"
    )


@pytest.mark.parametrize(
    ("make", "decisions"),
    [(_sink(to), "outside") for to in ("parquet", "orc", "json", "csv")]
    + [
        (_sink("terminal"), None),
        (lambda kit: kit.streamlet(Own, ref="own"), None),
        (lambda kit: kit.streamlet(Copy, ref="copy"), "topics/_staged"),
    ],
    ids=["parquet", "orc", "json", "csv", "terminal", "own", "topic"],
)
def test_a_batch_is_planned_again_only_when_nothing_of_it_was_written(
    kit: Testkit, make: Callable[[Testkit], StreamletUnderTest], decisions: str | None, tmp_path: Path
) -> None:
    """A query whose batch was decided is refused, as its files would count for a batch with more rows; before the
    decision it continues. A sink of the author's own is always refused, the terminal never."""
    app = make(kit)
    home = kit.directory / app.plan.ref
    app.inlet("in").put([{"src": "a"}])
    app.step()
    if decisions is not None:
        shutil.copytree(home / decisions, tmp_path / "before")
    app.inlet("in").put([{"src": "b"}])
    app.step()
    directory = home / "checkpoints" / app.plan.ref / "sink"
    (directory / "commits" / "1").unlink()
    (directory / "offsets" / "1").write_bytes(b"")
    written = _asked(app, home)
    if app.plan.ref == "terminal":
        assert "batch 1 is planned again" in next(iter(repair(directory, written)))
        return
    with pytest.raises(DamagedCheckpointError, match="batch 1 was written"):
        list(repair(directory, written))
    if decisions is None:
        return
    shutil.rmtree(home / decisions)
    shutil.copytree(tmp_path / "before", home / decisions)
    if app.plan.ref == "copy":  # its topic has the batch
        with pytest.raises(DamagedCheckpointError, match="batch 1 was written"):
            list(repair(directory, written))
    else:
        assert "batch 1 is planned again" in next(iter(repair(directory, written)))


@pytest.mark.parametrize("killed", ["offsets/.0.a-b.tmp", "commits/.0.a-b.tmp"])
def test_a_kill_in_the_first_batch(kit: Testkit, killed: str) -> None:
    """Spark refuses to begin batch 0 where there is any file in these directories; what was never published is removed
    before a query starts, by a run and by a step."""
    app = kit.streamlet(Copy, ref="copy")
    app.inlet("in").put([{"src": "a"}])
    directory = kit.directory / "copy" / "checkpoints" / "copy" / "sink"
    left = directory / killed
    left.parent.mkdir(parents=True)
    left.touch()
    assert list(repair(directory, lambda checkpoint, batch: True)) == []
    assert not left.exists()
    left.touch()
    assert app.step().rows_in == 1
    assert not left.exists()


def test_a_power_cut_in_the_first_batch(kit: Testkit) -> None:
    """The plan of the batch is empty, and there is state: the batch is planned again, without that state."""
    app = kit.streamlet(Copy, ref="copy")
    app.inlet("in").put([{"src": "a"}])
    directory = kit.directory / "copy" / "checkpoints" / "copy" / "sink"
    for file in ("offsets/0", "state/0/_metadata/metadata"):
        (directory / file).parent.mkdir(parents=True)
        (directory / file).touch()
    (message,) = repair(directory, lambda checkpoint, batch: False)
    assert "batch 0" in message
    assert app.step().rows_in == 1


def test_a_checkpoint_that_lost_batches_loses_no_records(kit: Testkit) -> None:
    """A restored checkpoint lacks all batches: records that arrive now would be dropped by the topic
    under the number of the lost batch. So the query is refused; a query whose sink drops nothing starts."""
    for streamlet, refused in ((Copy, True), (Own, False)):
        app = kit.streamlet(streamlet, ref=streamlet.__name__.lower())
        for name in ("a", "b"):
            app.inlet("in").put([{"src": name}])
            app.step()
        home = kit.directory / app.plan.ref
        folder = home / "checkpoints" / app.plan.ref / "sink"
        written = drops_known_batches(_write(app), app.plan.ref, [DeltaChannel(home / "topics")])
        require_complete(folder, written)
        for file in ("offsets/1", "commits/1", "offsets/0", "commits/0"):
            (folder / file).unlink()
            (folder / file).with_name(f".{Path(file).name}.crc").unlink()
        if not refused:
            require_complete(folder, written)
            continue
        with pytest.raises(DamagedCheckpointError, match="batch 0 was written: its plan was lost"):
            require_complete(folder, written)
        app.inlet("in").put([{"src": "c"}])
        app.step()
        rows = app.outlet("sink").all()
        assert [row["src"] for row in rows] == ["a", "b"], "this test is about a loss that happens without the refusal"


def _asked(app: StreamletUnderTest, home: Path) -> Any:
    return may_have_written(_write(app), app.plan.ref, [DeltaChannel(home / "topics")])


def _write(app: StreamletUnderTest) -> StreamingWrite:
    streamlet = {"own": Own, "copy": Copy}.get(app.plan.ref, Sink)()
    (write,) = streamlet.create_logic(app.context).build()
    assert isinstance(write, StreamingWrite)
    return write
