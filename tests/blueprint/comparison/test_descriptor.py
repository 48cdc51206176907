"""Descriptors as text: they read back equal, in a fixed order, without secrets; other texts are rejected."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.catalog import ParameterDescriptor, ParameterType
from blueprint.comparison import (
    ApplicationDescriptor,
    ChangeClass,
    DescribedInlet,
    DescribedOutlet,
    DescribedQuery,
    DescribedStreamlet,
    DescribedTopic,
    DescriptorError,
    compare,
    describe_plan,
    read_descriptor,
    to_json,
)
from blueprint.settings.secret_texts import SECRET
from blueprint.verification.verify import verify
from tests.blueprint.comparison.described import APPS, READING, application, contract, with_streamlet, with_topics
from tests.blueprint.paper import PaperCatalog, at, record, streamlet
from tests.random_examples import examples

T = TypeVar("T")

NAMES = st.sampled_from(("a", "b-c", "größe", "x1"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
SETTINGS = st.dictionaries(NAMES, JSON, max_size=2)
TOPICS = ("readings", "means")
INLETS = st.builds(DescribedInlet, st.sampled_from(TOPICS), st.just(READING), max_records=st.none() | st.integers(1))
OUTLETS = st.builds(DescribedOutlet, st.sampled_from(TOPICS), st.just(READING), st.just(("src",)) | st.just(()))
QUERIES = st.builds(DescribedQuery, st.none() | st.just(("a",)), st.just(()) | st.just(("dedupe",)))
STREAMLETS = st.builds(
    DescribedStreamlet,
    class_name=st.sampled_from(("app.One", "app.Two")),
    inlets=st.dictionaries(NAMES, INLETS, max_size=2),
    outlets=st.dictionaries(NAMES, OUTLETS, max_size=2),
    parameters=SETTINGS,
    trigger=st.none() | st.just("available-now"),
    spark=SETTINGS,
    source_evolution=st.booleans(),
    queries=st.none() | st.dictionaries(NAMES, QUERIES, max_size=2),
)
APPLICATIONS = st.builds(
    ApplicationDescriptor,
    st.just("weather"),
    st.dictionaries(NAMES, STREAMLETS, max_size=3),
    st.fixed_dictionaries(
        {id: st.builds(DescribedTopic, st.just(id), managed=st.booleans(), settings=SETTINGS) for id in TOPICS}
    ),
    SETTINGS,
)


@settings(max_examples=examples(150), deadline=None)
@given(APPLICATIONS)
def test_what_is_written_is_read_again(described: ApplicationDescriptor) -> None:
    """A descriptor that is read again gives the same text, and no change against itself."""
    text = to_json(described)
    again = read_descriptor(text, "old.json").descriptor
    assert to_json(again) == to_json(read_descriptor(to_json(again), "old.json").descriptor)
    assert compare(again, again) == ()
    assert compare(described, described) == ()


@settings(max_examples=examples(150), deadline=None)
@given(APPLICATIONS, APPLICATIONS)
def test_any_two_can_be_compared(old: ApplicationDescriptor, new: ApplicationDescriptor) -> None:
    """Any two: no exception, the same result twice, the strongest change first, each change with a place."""
    found = compare(old, new)
    assert found == compare(old, new)
    ranks = [change.needs.rank for change in found]
    assert ranks == sorted(ranks, reverse=True)
    assert all(change.path or change.before for change in found)
    assert all(change.causes for change in found if change.needs is not ChangeClass.SAFE)


def test_the_order_of_names_does_not_matter() -> None:
    """Equal applications give equal texts, in whatever order they were defined."""
    one = application()
    other = replace(one, streamlets=backwards(one.streamlets), topics=backwards(one.topics))
    assert to_json(one) == to_json(other)


def backwards(names: Mapping[str, T]) -> dict[str, T]:
    """Return the same in the opposite order."""
    return dict(reversed(list(names.items())))


def test_a_chain_of_safe_changes_is_safe_at_every_step() -> None:
    """Fields with defaults are added, readers and parameters change, a streamlet is added: nothing is ever lost."""
    assert len(APPS) > 4
    for before, after in itertools.pairwise(APPS):
        found = compare(before, after)
        assert found
        assert {change.needs for change in found} == {ChangeClass.SAFE}, [change.headline for change in found]


def test_all_writers_there_ever_were_count() -> None:
    """A field that is removed and added again with another type is reported if a topic still has its records."""
    first = contract(src="string", value="string")
    again = with_streamlet(application(), "archive", inlets={"in": DescribedInlet("means", contract(src="string"))})
    assert [change.needs.value for change in compare(again, application())] == ["safe"]
    told = with_topics(again, means=DescribedTopic("means", written=(first,)))
    assert [change.needs.value for change in compare(told, application())] == ["breaking"]


DESCRIPTORS = Path(__file__).parent / "descriptors"


@pytest.mark.parametrize("file", sorted(DESCRIPTORS.glob("*.json")), ids=lambda file: file.stem)
def test_files_of_earlier_versions_are_read(file: Path) -> None:
    """Each file was written by an earlier version. What is written again is the same, to the character."""
    text = file.read_text(encoding="utf-8")
    descriptor = read_descriptor(text, file.name).descriptor
    assert to_json(descriptor) == text
    assert compare(descriptor, descriptor) == ()


def test_missing_keys_of_a_file_have_defaults() -> None:
    """Keys that were added later, null, and unknown keys do not matter."""
    given, written = ((DESCRIPTORS / "sparse" / f"{name}.json").read_text() for name in ("given", "written"))
    assert to_json(read_descriptor(given, "given.json").descriptor) == written


@pytest.mark.parametrize(
    ("path", "value", "headline"),
    [
        (("streamlets", "mean", "inlets", "in", "starting"), 1, "`starting` of the descriptor must be a string"),
        (("streamlets", "mean", "inlets", "in", "max-records"), True, "`max-records` of the descriptor must be a"),
        (("streamlets", "mean", "inlets", "in", "topic"), None, "the descriptor lacks `topic` here"),
        (("streamlets", "mean", "inlets", "in", "topic"), "no", "the descriptor has no topic `no`"),
        (("streamlets", "mean", "inlets", "in"), [], "`in` of the descriptor must be an object"),
        (("streamlets", "mean", "inlets", "in", "schema"), None, "a schema of the descriptor cannot be read: "),
        (("streamlets", "mean", "inlets"), [], "`inlets` of the descriptor must be an object"),
        (("streamlets", "mean", "outlets", "out", "partition-by"), [1], "`partition-by` of the descriptor"),
        (("streamlets", "mean", "source-evolution"), "no", "`source-evolution` of the descriptor must be `true` or"),
        (("streamlets", "mean", "queries", "out", "state"), {}, "`state` of the descriptor must be a list"),
        (("streamlets", "mean", "queries", "out", "state", 0, "stores", "default", "key"), [1], "`key` of the"),
        (("streamlets", "mean", "retry"), [], "`retry` of the descriptor must be an object"),
        (("topics", "readings", "written", 0), {}, "`written` of the descriptor has no `schema`"),
        (("topics", "readings", "channel"), None, "the descriptor lacks `channel` here"),
        (("version",), 2, "unsupported descriptor version 2, expected 1"),
    ],
)  # fmt: skip
def test_the_first_fault_of_a_file_is_a_finding_in_its_place(
    path: tuple[str | int, ...], value: object, headline: str
) -> None:
    """The finding names the key and what was expected; its place is that of the value, or of what lacks it."""
    document = json.loads((DESCRIPTORS / "everything.json").read_text())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    text = json.dumps(document, indent=1)
    with pytest.raises(DescriptorError) as raised:
        read_descriptor(text, "old.json")
    diagnostic = raised.value.diagnostic
    assert diagnostic.headline.startswith(headline)
    assert diagnostic.primary is not None
    assert diagnostic.primary.span.line > 1
    assert diagnostic.help


PARAMETERS = tuple(
    ParameterDescriptor(key=key, description="", type=type, default=None, declared=at(1))
    for key, type in (
        ("store-password", ParameterType.STRING), ("url", ParameterType.STRING), ("options", ParameterType.OBJECT)
    )
)  # fmt: skip

MANGLED = (
    "", "{", "[]", "null", '{"version": 1}', '{"version": "1", "streamlets": {}, "topics": {}}',
    '{"version": 1, "streamlets": [], "topics": {}}', '{"version": 1, "streamlets": {"a": 1}, "topics": {}}',
    '{"version": 1, "streamlets": {"a": {}}, "topics": {}}', '{"version": 1, "version": 1}',
    '{"version": 1, "streamlets": {}, "topics": {"t": {"name": "t"}}}',
)  # fmt: skip


@pytest.mark.parametrize("text", MANGLED)
def test_what_is_no_descriptor_is_one_finding_in_its_place(text: str) -> None:
    """A file that was written or edited by hand is a finding with a place, as any other."""
    with pytest.raises(DescriptorError) as raised:
        read_descriptor(text, "old.json")
    assert raised.value.diagnostic.primary is not None
    assert raised.value.diagnostic.primary.span.file == "old.json"


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_a_descriptor_with_anything_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    """A file with one value replaced is read, or rejected with a finding; it never raises anything else."""
    document = json.loads(to_json(application()))
    here = document
    for _ in range(data.draw(st.integers(0, 7))):
        keys = list(here) if isinstance(here, dict) else list(range(len(here))) if isinstance(here, list) else []
        inner = [key for key in keys if isinstance(here[key], dict | list)]
        if not inner:
            break
        here = here[data.draw(st.sampled_from(inner))]
    keys = list(here) if isinstance(here, dict) else list(range(len(here)))
    if keys:
        here[data.draw(st.sampled_from(keys))] = data.draw(JSON)
    try:
        read = read_descriptor(json.dumps(document), "old.json").descriptor
    except DescriptorError:
        return
    compare(read, application())
    compare(application(), read)


def test_secrets_are_not_described(tmp_path: Path) -> None:
    """Values of settings that are secret by their name, and passwords inside addresses, are nowhere in the text."""
    (tmp_path / "blueprint.conf").write_text(
        """
        blueprint {
          streamlets { gauges { class = app.Gauges, parameters {
            store-password = hunter2, url = "jdbc:x://joe:hunter3@host/db?password=hunter4&ssl=true",
            options { apiKey = hunter5, token.value = hunter6, partition-key = src, path = out }
          } } }
          topics { readings {
            channel = kafka, producers = [gauges.out], producer-config { sasl.jaas.config = hunter7, acks = all }
          } }
        }
        flow.runtimes.spark { hadoop.fs.s3a.secret.key = hunter8, sql.shuffle.partitions = 3 }
        """,
        encoding="utf-8",
    )
    gauges = streamlet("app.Gauges", outlets={"out": record("Reading", src="string")}, parameters=PARAMETERS)
    checked = verify("blueprint.conf", catalog=PaperCatalog(gauges), environment={}, working_directory=tmp_path)
    assert checked.plan is not None, checked.diagnostics
    text = to_json(describe_plan(checked.plan))
    assert "hunter" not in text
    assert text.count(SECRET) == 7
    for kept in ('"partition-key": "src"', '"path": "out"', '"producer-config.acks": "all"', "ssl=true"):
        assert kept in text
