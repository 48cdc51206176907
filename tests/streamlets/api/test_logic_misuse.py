"""Misuse of the logic's API that is told without Spark: one sentence, and the author's line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from streamlets import (
    AvroInlet,
    AvroOutlet,
    DurationParameter,
    IntegerParameter,
    SparkStreamlet,
    SparkStreamletContext,
    SparkStreamletLogic,
    StreamingWrite,
    StreamletError,
    StringParameter,
    VolumeMount,
)

Body = Callable[[Any], Any]


class Ports:
    """A binding that takes down what is asked of it."""

    def __init__(self) -> None:
        self.read_as: list[tuple[str, str, bool]] = []

    def read(self, inlet: str, *, name: str, metadata: bool) -> Any:
        """Nothing to read."""
        self.read_as.append((inlet, name, metadata))

    def write(self, rows: object, branches: Mapping[str, object], *, query: str, output_mode: str) -> Any:
        """Nothing to write."""

    def checkpoint_dir(self, name: str) -> str:
        """A folder."""
        return f"/checkpoints/{name}"


class Streamlet(SparkStreamlet):
    """Has one of each."""

    raw_data = AvroInlet(schema="x int")
    result = AvroOutlet(schema="x int")
    rest = AvroOutlet(schema="x int")
    window = DurationParameter("Length")
    title = StringParameter("Title", optional=True)
    models = VolumeMount(path="/models")

    class Logic(SparkStreamletLogic["Streamlet"]):
        """Runs what the test gives."""

        body: Body = staticmethod(lambda logic: [])

        def build_streaming_queries(self) -> Any:
            """The test's."""
            return type(self).body(self)


class Other(SparkStreamlet):
    """Another streamlet."""

    raw_data = AvroInlet(schema="x int")
    count = IntegerParameter("Count")


def build(
    body: Body, config: Mapping[str, object] | None = None, mounts: Mapping[str, Path] | None = None
) -> tuple[Ports, object]:
    """Build the queries of a logic whose body is `body`."""
    ports = Ports()
    context = SparkStreamletContext(None, "one", config or {}, mounts or {}, ports)  # type: ignore[arg-type]
    logic = type("Logic", (Streamlet.Logic,), {"body": staticmethod(body)})(Streamlet(), context)
    return ports, logic.build()


def refused(body: Body) -> StreamletError:
    """The error that building gives; it stands in this file."""
    with pytest.raises(StreamletError) as caught:
        build(body)
    place = caught.value.place
    assert place is not None and place.file == __file__
    assert f"at {place.span.file}, line {place.line}" in str(caught.value)
    return caught.value


def write(query: str, *outlets: str) -> StreamingWrite:
    """A write as `write_stream` gives it."""
    return StreamingWrite(query, None, outlets)  # type: ignore[arg-type]


def test_a_source_is_called_like_its_inlet_unless_it_has_a_name() -> None:
    """Spark's source names have no hyphens."""

    def body(logic: Any) -> list[object]:
        logic.read_stream(logic.streamlet.raw_data)
        logic.read_stream(logic.streamlet.raw_data, name="again", metadata=True)
        return []

    ports, _ = build(body)
    assert ports.read_as == [("raw-data", "raw_data", False), ("raw-data", "again", True)]


def test_reading_an_outlet_is_refused() -> None:
    """The message lists the inlets."""
    error = refused(lambda logic: logic.read_stream(logic.streamlet.result))
    assert error.message == (
        "read_stream takes an inlet of `Streamlet` (it has `raw-data`), and AvroOutlet('result') is none"
    )


def test_a_port_of_another_streamlet_is_refused() -> None:
    """Ports are known by identity, not by name."""
    error = refused(lambda logic: logic.read_stream(Other.raw_data))
    assert error.message == "AvroInlet('raw-data') is no inlet of `Streamlet`: it has `raw-data`"


def test_a_source_name_that_spark_cannot_keep_is_refused() -> None:
    """Letters, digits and `_` only."""
    error = refused(lambda logic: logic.read_stream(logic.streamlet.raw_data, name="raw-again"))
    assert error.message == "`raw-again` cannot name a source: take letters, digits and `_`"


def test_writing_no_outlets_is_refused() -> None:
    """`write_streams` wants at least one."""
    error = refused(lambda logic: logic.write_streams(None, {}))
    assert error.message.startswith("write_streams got no outlets")


def test_an_outlet_written_twice_is_refused() -> None:
    """Also when one of the writes has several outlets; the first write's line is named."""

    def body(logic: Any) -> object:
        first = logic._build.add(write("result", "result"))
        return [first, logic._build.add(write("both", "rest", "result"))]

    error = refused(body)
    assert error.message.startswith("the outlet `result` is written twice, here and in line ")
    assert error.place is not None and f"line {error.place.line - 1}" in error.message


def test_two_queries_of_one_name_are_refused() -> None:
    """Case does not tell them apart, as checkpoint folders on some file systems do not."""

    def body(logic: Any) -> object:
        return [logic._build.add(write("Split", "result")), logic._build.add(write("split", "rest"))]

    assert refused(body).message.startswith("two queries are called `split`")


@pytest.mark.parametrize("name", ["", "a/b", "..", "-a", "a b"])
def test_a_query_name_that_cannot_be_a_folder_is_refused(name: str) -> None:
    """The name becomes the checkpoint's folder."""
    assert "cannot name a query" in refused(lambda logic: logic._build.add(write(name, "result"))).message


@pytest.mark.parametrize(("returned", "called"), [(None, "nothing"), ([1], "a `int`"), (Streamlet, "Streamlet")])
def test_returning_something_else_is_refused(returned: object, called: str) -> None:
    """Writes, queries, or a list of these."""
    with pytest.raises(StreamletError) as caught:
        build(lambda logic: returned)
    assert "build_streaming_queries` gave" in caught.value.message and called in caught.value.message


def test_a_write_that_is_not_returned_is_refused() -> None:
    """It would be lost silently; the error stands where it was made."""

    def body(logic: Any) -> object:
        logic._build.add(write("result", "result"))
        return []

    assert refused(body).message.startswith("the query `result` was made but not returned")


def test_building_again_begins_anew() -> None:
    """The same names each time are no clash: builds know nothing of each other."""
    context = SparkStreamletContext(None, "one", {}, {}, Ports())  # type: ignore[arg-type]

    class Twice(Streamlet.Logic):
        def build_streaming_queries(self) -> Any:
            return self._build.add(write("result", "result"))

    logic = Twice(Streamlet(), context)
    assert [getattr(write, "query", None) for write in (*logic.build(), *logic.build())] == ["result", "result"]


def test_a_parameter_without_a_value_is_refused() -> None:
    """Required ones want a setting, optional ones a default in the code."""
    assert "set it in the blueprint" in refused(lambda logic: logic.value(logic.streamlet.window)).message
    assert "as it is optional" in refused(lambda logic: logic.value(logic.streamlet.title)).message
    build(lambda logic: [] if logic.value(logic.streamlet.title, "x") == "x" else None)
    build(lambda logic: [] if logic.value(logic.streamlet.title, "x") == "y" else None, {"title": "y"})


def test_a_parameter_of_another_streamlet_is_refused() -> None:
    """Values are looked up through the streamlet's own declarations."""
    message = refused(lambda logic: logic.value(Other.count)).message
    assert message == "IntegerParameter('count') is no parameter of `Streamlet`"


def test_a_mount_gives_its_folder_or_says_where_to_set_it() -> None:
    """The setting that is missing is named in full."""
    message = refused(lambda logic: logic.mounted_path(logic.streamlet.models)).message
    assert "set `flow.streamlets.one.volume-mounts.models` to a folder" in message
    build(
        lambda logic: [] if logic.mounted_path(logic.streamlet.models) == Path("/m") else None,
        mounts={"models": Path("/m")},
    )


def test_an_error_without_code_of_the_authors_has_no_place() -> None:
    """Frames of this project and of libraries are not shown as the author's."""
    raised: list[StreamletError] = []

    def on_another_thread(make: Callable[[str], StreamletError]) -> None:
        thread = threading.Thread(target=map(raised.append, map(make, ["no place"])).__next__)
        thread.start()
        thread.join()

    on_another_thread(StreamletError)
    assert raised[0].place is None and str(raised[0]) == "no place"


def test_a_streamlet_without_logic_cannot_run() -> None:
    """The message says what is missing."""
    context = SparkStreamletContext(None, "one", {}, {}, Ports())  # type: ignore[arg-type]
    with pytest.raises(StreamletError, match="`Other` has no class `Logic` inside"):
        Other().run(context)
