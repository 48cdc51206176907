"""What the traits of a channel say, without Spark."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.catalog import InletSettings, OutletSettings, TopicSettings
from blueprint.quantities import Duration
from streamlets.channels.base import Channel, Reader, TopicResource
from streamlets.channels.base.optional import optional_methods
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.testkit.channels.bench import ChannelBench
from streamlets.testkit.channels.fitting import FittingTests, needs
from streamlets.testkit.channels.records import READING, WIDER, append, batch, ids_of, inlet
from streamlets.testkit.channels.topics import fill


class TraitTests(FittingTests):
    """The traits of a channel, each with the methods that belong to it."""

    def test_the_channel_is_registered(self, channel_bench: ChannelBench) -> None:
        """Its name in a blueprint is the one in its traits."""
        name = channel_bench.traits.name
        assert name in CHANNEL_TYPES, f"no installed package has an entry point `{name}` of `streamlets.channels`"
        assert type(CHANNEL_TYPES[name]) is type(channel_bench.type)

    def test_the_classes_have_the_traits_of_the_registration(self, channel_bench: ChannelBench) -> None:
        """They override the optional methods of these traits, and no others."""
        traits = channel_bench.traits
        for base, cls in ((Channel, type(channel_bench.channel)), (TopicResource, type(channel_bench.topic("in")))):
            assert cls.traits == traits
            optional = dict(optional_methods(base))
            overridden = {method for method in optional if getattr(cls, method) is not getattr(base, method)}
            assert overridden == {method for method, trait in optional.items() if getattr(traits, trait)}

    def test_the_settings_are_described(self, channel_bench: ChannelBench) -> None:
        """Each setting has a key of its own in its scope, and a description."""
        settings = channel_bench.traits.settings
        assert len({(setting.scope, setting.key) for setting in settings}) == len(settings)
        assert all(setting.doc for setting in settings)

    def test_the_settings_of_a_topic_have_no_problems(self, channel_bench: ChannelBench) -> None:
        """Verification accepts the topics of this suite, and ports without settings of their own."""
        traits, plan = channel_bench.traits, channel_bench.plan("in")
        topic = TopicSettings(plan.id, plan.name, plan.channel, True, plan.options, {}, contracts=(READING,))
        topic = replace(topic, location=traits.location(topic))
        assert list(traits.problems(topic)) == []
        assert list(traits.inlet_problems(InletSettings("reader", "in", {}, READING, {"writer.out": {}}))) == []
        assert list(traits.outlet_problems(OutletSettings("writer", "out", {}))) == []
        if traits.partitions is not None:
            assert (traits.partitions(topic) or 1) >= 1

    def test_reserved_names_are_refused(self, channel_bench: ChannelBench) -> None:
        """A topic whose name the channel uses itself is an error."""
        for prefix in channel_bench.traits.reserved:
            with pytest.raises(ValueError, match="name"):
                channel_bench.channel.topic(channel_bench.plan(f"{prefix}x"))

    def test_a_log_has_one_order(self, channel_bench: ChannelBench) -> None:
        """With the settings for logs, a topic keeps the order of all records, also of several writers."""
        topic = channel_bench.topic("log", options=dict(channel_bench.traits.log_options))
        for number in range(6):
            append(topic, [batch([number])], READING, number, writer=f"w{number % 2}")
        assert ids_of(topic.scan()) == list(range(6))

    def test_retention_drops_old_records_that_every_reader_has_committed(self, channel_bench: ChannelBench) -> None:
        """A channel without the setting `retention.time` keeps all records."""
        setting = "retention.time"
        limited = setting in {own.key for own in channel_bench.traits.settings}
        topic = channel_bench.topic("in", options={setting: Duration(0)} if limited else {})
        ends = fill(topic, [1, 2], [3])
        limit = time.monotonic() + 600
        while not (dropped := topic.maintain(lambda: [Reader("slow", ends[1])])).records and limited:
            assert time.monotonic() < limit, "no record expires"
        assert dropped.records == (2 if limited else 0)
        assert ids_of(topic.scan()) == ([3] if limited else [1, 2, 3])
        assert list(topic.missed()) == []

    @needs("purges")
    def test_purging_keeps_what_a_reader_has_not_committed(self, channel_bench: ChannelBench) -> None:
        """A plan drops nothing. Records that a reader has not committed are kept, unless dropping them is forced; then
        the reader's loss is reported once."""
        topic = channel_bench.topic("in")
        ends = fill(topic, range(4), range(4, 10), range(10, 12))
        readers = [Reader("fast", ends[3]), Reader("slow", ends[1])]
        planned = topic.purge(readers, dry=True)
        assert (planned.records, dict(planned.held)) == (4, {"slow": 8})
        assert ids_of(topic.scan()) == list(range(12))
        assert topic.purge(readers).records == 4
        assert ids_of(topic.scan()) == list(range(4, 12))
        assert list(topic.missed()) == []
        forced = topic.purge(readers, force=True)
        topic.sweep()
        assert (forced.records, [(m.reader, m.records) for m in forced.missed]) == (8, [("slow", 8)])
        assert ids_of(topic.scan()) == []
        assert [(m.topic, m.reader, m.records) for m in topic.missed()] == [(topic.plan.name, "slow", 8)]
        assert list(topic.missed()) == []
        fill(topic, [20])
        assert ids_of(topic.scan(after=ends[3])) == [20]

    @needs("copies")
    def test_stretches_are_the_records_with_their_contracts(self, channel_bench: ChannelBench) -> None:
        """A copy that continues at the end of a stretch has each record once."""
        topic = channel_bench.topic("in", READING, WIDER)
        fill(topic, range(3))
        append(topic, [batch([3, 4], WIDER)], WIDER, 0, writer="wider")
        stretches = list(topic.stretches(None, topic.end(), None))
        assert ids_of(stretch.rows for stretch in stretches) == list(range(5))
        assert {stretch.contract for stretch in stretches} == {READING, WIDER}
        assert all(topic.owns(stretch.end) for stretch in stretches)
        rest = topic.stretches(stretches[0].end, topic.end(), None)
        assert ids_of([stretches[0].rows, *(stretch.rows for stretch in rest)]) == list(range(5))
        assert list(topic.stretches(topic.end(), topic.end(), None)) == []

    @needs("ranges")
    def test_records_are_found_by_time_and_position(self, channel_bench: ChannelBench) -> None:
        """A position by time has the records from then on after it, and can be read from its text."""
        topic = channel_bench.topic("in")
        fill(topic, [1, 2], [3])
        begin, end = topic.position_at(0.0), topic.position_at(time.time() + 3600)
        assert (ids_of(topic.scan(None, begin)), ids_of(topic.scan(None, end))) == ([1, 2, 3], [])
        last = topic.time_before(end)
        assert topic.time_before(begin) is None
        assert last is not None
        assert ids_of(topic.scan(None, topic.position_at(last))) in ([1, 2, 3], [3])
        assert topic.position_of(topic.shown(end)) == end
        assert topic.deleted_since(0.0) is None
        for wrong in ("", "x"):
            with pytest.raises(ValueError, match="position"):
                topic.position_of(wrong)

    @needs("snapshots")
    def test_a_snapshot_keeps_a_range(self, channel_bench: ChannelBench, tmp_path: Path) -> None:
        """It has the records that the topic has lost, between the positions that it is limited to."""
        topic = channel_bench.topic("in")
        ends = fill(topic, [1], [2, 3], [4])
        (tmp_path / "snapshots").mkdir()
        topic.snapshot(tmp_path / "snapshots" / topic.plan.name)
        topic.purge((), force=True)
        topic.sweep()
        kept = channel_bench.type.open(tmp_path / "snapshots").topic(replace(topic.plan, managed=False))
        assert ids_of(kept.scan()) == [1, 2, 3, 4]
        kept.limit(ends[1], ends[2])
        assert (ids_of(kept.scan()), kept.end()) == ([2, 3], ends[2])

    @needs("loses_records")
    def test_lost_records_are_reported(self, channel_bench: ChannelBench) -> None:
        """A reader learns what was deleted before it has read it, when it continues and after a batch."""
        topic = channel_bench.topic("in")
        ends = fill(topic, range(4), range(4, 10), range(10, 12))
        assert topic.lost(Reader("slow", ends[1])) == ()
        channel_bench.lose(topic, ends[2])
        assert ids_of(topic.scan()) == [10, 11]
        lost = topic.lost(Reader("slow", ends[1]))
        assert {(missed.topic, missed.reader) for missed in lost} == {(topic.plan.name, "slow")}
        assert sum(missed.records for missed in lost) >= 6
        assert topic.lost(Reader("fast", ends[2])) == ()
        assert sum(missed.records for missed in topic.skipped(Reader("batch", ends[1]), ends[3], 2)) >= 6
        assert topic.fails_on_loss in (True, False)

    @needs("shows_progress")
    def test_other_tools_see_the_position_of_a_reader(self, channel_bench: ChannelBench) -> None:
        """It is the last one that was stored, until the reader is forgotten."""
        topic = channel_bench.topic("in")
        ends = fill(topic, [1, 2], [3])
        group = f"{topic.plan.name}.reader"
        for end in ends[1:]:
            topic.committed(group, end)
            assert channel_bench.shown_progress(topic, group) == end
        for _ in range(2):
            topic.forget_reader(group)
            assert channel_bench.shown_progress(topic, group) is None

    @needs("administration")
    def test_settings_of_an_existing_topic_are_compared_and_altered(self, channel_bench: ChannelBench) -> None:
        """The differences have the planned and the existing value; after the alteration there are none."""
        fill(channel_bench.topic("in"), [1])
        plan = channel_bench.plan("in", options=channel_bench.altered)
        topic = channel_bench.channel.topic(plan)
        differences = topic.differences()
        assert differences
        assert all(found.alterable and found.planned != found.existing for found in differences)
        topic.alter(differences)
        assert topic.differences() == ()
        assert ids_of(topic.scan()) == [1]

    @needs("administration")
    def test_a_topic_that_is_not_used_any_more_is_deleted(self, channel_bench: ChannelBench) -> None:
        """The topics of the plan are in use. A deleted topic does not exist, and is not unused either."""
        fill(channel_bench.topic("old"), [1])
        fill(channel_bench.topic("kept"), [2])
        assert channel_bench.topic("old").created
        plans = [channel_bench.plan("kept")]
        (unused,) = channel_bench.open().unused(plans)
        assert unused.plan.name == channel_bench.plan("old").name
        unused.delete()
        assert not unused.exists()
        assert channel_bench.open().unused(plans) == ()
        assert ids_of(channel_bench.topic("kept").scan()) == [2]

    @needs("deletes")
    def test_a_deleted_topic_leaves_nothing_to_a_later_one_of_its_name(self, channel_bench: ChannelBench) -> None:
        """It does not exist, and may be deleted again. The later one has no records and no writers, so that an append
        with an earlier sequence is not taken for a repetition, nor an earlier epoch for a fenced one."""
        topic = channel_bench.topic("in")
        with topic.appender(READING, writer="w", epoch=7) as appender:
            assert appender.append([batch([1, 2])], 5, marker=b"five")
        topic.delete()
        assert not topic.exists()
        channel_bench.open().topic(topic.plan).delete()
        later = channel_bench.open().topic(topic.plan)
        later.create([READING])
        with later.appender(READING, writer="w", epoch=1) as appender:
            assert (appender.last, appender.marker) == (None, None)
            assert appender.append([batch([3])], 0)
        assert ids_of(later.scan()) == [3]

    @needs("late_records")
    def test_an_inlet_names_the_operator_that_drops_late_records(self, channel_bench: ChannelBench) -> None:
        """An inlet without settings has none."""
        topic = channel_bench.topic("in")
        assert topic.late_operator(inlet("in")) is None
        assert topic.late_operator(inlet("in", options=channel_bench.late_options))

    @needs("invalid_records")
    def test_invalid_data_is_shown_by_its_place(self, channel_bench: ChannelBench) -> None:
        """Records before and after it are shown, with and without the schema of a reader."""
        topic, places = channel_bench.topic("in"), list[str]()
        fill(topic, [1])
        channel_bench.add_invalid(topic)
        fill(topic, [2])
        for reader in (None, READING):
            assert ids_of(topic.shown_with(None, places.append).scan(reader)) == [1, 2]
        assert len(places) == 2
