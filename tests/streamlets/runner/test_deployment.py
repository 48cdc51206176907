"""The application as it last ran: its descriptor, the queries of its checkpoints, the schemas of its records."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from blueprint.avro.sources.loading import parse_contract
from blueprint.comparison import DescribedQuery, DescriptorError, compare, to_json
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.runner.deployment import as_run, deployed, last_change, store_descriptor, with_version
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.testkit.application import plan_application
from tests.blueprint.comparison.described import application, unknown_queries
from tests.pages import REPOSITORY
from tests.streamlets.channels.topics import append
from tests.streamlets.runner.supervision.bench import unit_id

EARLIER = parse_contract('{"type": "record", "name": "Reading", "fields": [{"name": "src", "type": "string"}]}')
SAVED = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": []}


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    """The state directory of an application whose descriptor has no queries."""
    state = StateDirectory(tmp_path, "weather")
    state.directory.mkdir(parents=True)
    state.descriptor_file.write_text(to_json(unknown_queries(application())), encoding="utf-8")
    return state


def checkpoint(state: StateDirectory, streamlet: str, query: str, offsets: str, *, saved: bool = False) -> None:
    """Write a checkpoint as Spark does, with its last planned batch and a stateful operator."""
    directory = state.checkpoints / streamlet / query
    (directory / "offsets").mkdir(parents=True)
    (directory / "metadata").write_text('{"id": "1"}', encoding="utf-8")
    (directory / "offsets" / "9").write_text("v2\n{}\nold:1", encoding="utf-8")
    (directory / "offsets" / "10").write_text(offsets, encoding="utf-8")
    (directory / "offsets" / ".10.crc").write_bytes(b"crc")
    if saved:
        (directory / "state" / "0" / "_metadata").mkdir(parents=True)
        (directory / "state" / "0" / "_metadata" / "metadata").write_text(f"v1\n{json.dumps(SAVED)}", encoding="utf-8")


def ran(state: StateDirectory, *units: str) -> None:
    """Write the status of a run with these units."""
    state.status_file.parent.mkdir()
    events = Publisher([StatusFile(state.status_file)])
    events.publish(RunStarted(1.0, "weather", tuple(name.partition(".")[0] for name in units)))
    for name in units:
        events.publish(UnitChanged(2.0, unit_id(name), "running"))


def test_a_state_directory_without_a_descriptor_has_no_last_version(tmp_path: Path) -> None:
    """A broken descriptor is an error."""
    state = StateDirectory(tmp_path, "weather")
    assert deployed(state) is None
    state.directory.mkdir()
    state.descriptor_file.write_text("{", encoding="utf-8")
    with pytest.raises(DescriptorError):
        deployed(state)


def test_queries_sources_and_operators_are_read_from_checkpoints(state: StateDirectory) -> None:
    """The last planned batch has the names of the sources, Spark's metadata those of the operators. Checkpoints of
    older versions have no names of sources."""
    checkpoint(state, "mean", "out", 'v2\n{}\nin:{"topic": "x"}\nclock:7', saved=True)
    checkpoint(state, "archive", "files", "v1\n{}\n7")
    read = deployed(state)
    assert read is not None
    streamlets = read.descriptor.streamlets
    assert streamlets["mean"].queries == {"out": DescribedQuery(("clock", "in"), ("stateStoreSave",))}
    assert streamlets["archive"].queries == {"files": DescribedQuery(None, ())}
    assert streamlets["gauges"].queries is None
    assert streamlets["mean"].stateful
    assert streamlets["archive"].stateful is False


def test_the_schemas_of_written_records_are_read_from_topics(state: StateDirectory) -> None:
    """The schema of an earlier writer counts as long as its records exist; the current one is not repeated."""
    plan = TopicPlan("readings", "readings", "delta", True, (), (), {})
    topic = DeltaChannel(state.topics).topic(plan)
    topic.create()
    append(topic, [pa.RecordBatch.from_pydict({"src": ["a"]})], EARLIER, 0, writer="earlier")
    read = deployed(state)
    assert read is not None
    assert read.descriptor.topics["readings"].written == (EARLIER,)
    assert read.descriptor.topics["means"].written == ()
    new = replace(read.descriptor, streamlets={**read.descriptor.streamlets, "copy": application().streamlets["mean"]})
    (added,) = compare(read.descriptor, new)
    assert (added.code, added.needs.value) == ("change-streamlet-added", "breaking")


def test_checkpoints_of_removed_queries_are_ignored(state: StateDirectory) -> None:
    """It stays in the state directory; the descriptor, or the status of the last run, has the current queries."""
    checkpoint(state, "mean", "out", "v2\n{}\nin:7", saved=True)
    checkpoint(state, "mean", "before", "v2\n{}\nin:7")
    read = deployed(state)
    assert read is not None
    assert set(read.descriptor.streamlets["mean"].queries or {}) == {"before", "out"}
    ran(state, "mean.out", "gauges")
    read = deployed(state)
    assert read is not None
    assert read.descriptor.streamlets["mean"].queries == {"out": DescribedQuery(("in",), ("stateStoreSave",))}
    state.status_file.write_text("{", encoding="utf-8")
    built = application()  # its queries are known: `out` of `mean`, which has a checkpoint, and `files`
    assert as_run(built, state).streamlets["mean"].queries == {"out": DescribedQuery(("in",), ("stateStoreSave",))}
    assert as_run(built, state).streamlets["archive"].queries == built.streamlets["archive"].queries


def test_a_renamed_checkpoint_directory_renames_its_streamlet_or_query(state: StateDirectory) -> None:
    """As the help of a rename says: the version with the new name continues from it. What an earlier version left is
    not taken for it."""
    checkpoint(state, "mean", "out", "v2\n{}\nin:7")
    checkpoint(state, "archive", "files", "v2\n{}\nin:7")
    checkpoint(state, "earlier", "other", "v2\n{}\nin:7")
    ran(state, "mean.out", "archive.files")
    (state.checkpoints / "mean").rename(state.checkpoints / "average")
    (state.checkpoints / "archive" / "files").rename(state.checkpoints / "archive" / "store")
    read = deployed(state)
    assert read is not None
    assert set(read.descriptor.streamlets) == {"gauges", "average", "archive"}
    assert set(read.descriptor.streamlets["average"].queries or {}) == {"out"}
    assert set(read.descriptor.streamlets["archive"].queries or {}) == {"store"}
    (state.checkpoints / "average").rename(state.checkpoints / "mean")
    checkpoint(state, "average", "out", "v2\n{}\nin:7")
    read = deployed(state)
    assert read is not None
    assert "mean" in read.descriptor.streamlets


def test_a_topic_without_records_has_nothing_that_must_stay_readable(state: StateDirectory) -> None:
    """After a purge of all records a reader may change as it likes; while a writer runs, more may come."""
    topic = DeltaChannel(state.topics).topic(TopicPlan("readings", "readings", "delta", True, (), (), {}))
    topic.create()
    read = deployed(state)
    assert read is not None
    assert read.descriptor.topics["readings"].empty
    assert not read.descriptor.topics["means"].empty, "whether it has records is not known"
    with state.locked():
        running = deployed(state)
    assert running is not None
    assert not running.descriptor.topics["readings"].empty
    append(topic, [pa.RecordBatch.from_pydict({"src": ["a"]})], EARLIER, 0, writer="earlier")
    read = deployed(state)
    assert read is not None
    assert not read.descriptor.topics["readings"].empty


def test_the_version_is_that_of_the_stored_descriptor(state: StateDirectory) -> None:
    """It is the beginning of the SHA-256 of the file, so that anybody can compute it; a parameter changes it."""
    blueprint = REPOSITORY / "examples" / "pages" / "blueprint.conf"
    plan = with_version(plan_application(blueprint, (), ()))
    store_descriptor(state, plan)
    expected = hashlib.sha256(state.descriptor_file.read_bytes()).hexdigest()[:12]
    assert {streamlet.version for streamlet in plan.streamlets} == {expected}
    changed = plan_application(blueprint, (), ("flow.streamlets.products.parameters.max-task-attempts=9",))
    assert with_version(changed).streamlets[0].version != expected


def test_the_version_before_is_kept(state: StateDirectory) -> None:
    """A run of the same version keeps it; the next other one replaces it; a fresh start forgets it."""
    blueprint = REPOSITORY / "examples" / "pages" / "blueprint.conf"
    setting = "flow.streamlets.products.parameters.max-task-attempts"
    versions = [plan_application(blueprint, (), (f"{setting}={number}",)) for number in (3, 4, 5)]
    with state.locked():
        store_descriptor(state, versions[0])
        first = state.descriptor_file.read_text()
        for _ in range(2):
            store_descriptor(state, versions[1])
            assert state.previous_descriptor_file.read_text() == first
        changed = last_change(state)
        assert changed is not None
        assert [(change.code, change.needs.value) for change in changed.changes] == [("change-parameter", "safe")]
        store_descriptor(state, versions[2])
        assert 'max-task-attempts": 4' in state.previous_descriptor_file.read_text()
        assert len(list(state.directory.glob("*descriptor*.json"))) == 2
        state.clear()
        assert last_change(state) is None
        assert not state.previous_descriptor_file.exists()
