"""Misuse of the logic's API: the error has a message and the line of the author's call. No Spark is needed."""

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
    """A port binding that records reads."""

    def __init__(self) -> None:
        self.reads: list[tuple[str, str, bool]] = []

    def read(self, inlet: str, *, name: str, metadata: bool) -> Any:
        """Record the call."""
        self.reads.append((inlet, name, metadata))

    def write(self, rows: object, branches: Mapping[str, object], *, query: str, output_mode: str) -> Any:
        """Return no writer."""

    def checkpoint_dir(self, name: str) -> str:
        """Return a directory."""
        return f"/checkpoints/{name}"


class Streamlet(SparkStreamlet):
    """A streamlet with declarations of each kind."""

    raw_data = AvroInlet(schema="x int")
    result = AvroOutlet(schema="x int")
    rest = AvroOutlet(schema="x int")
    window = DurationParameter("Length")
    title = StringParameter("Title", optional=True)
    models = VolumeMount(path="/models")

    class Logic(SparkStreamletLogic["Streamlet"]):
        """Calls a function of the test."""

        body: Body = staticmethod(lambda logic: [])

        def build_streaming_queries(self) -> Any:
            """Call the function."""
            return type(self).body(self)


class Other(SparkStreamlet):
    """Another streamlet."""

    raw_data = AvroInlet(schema="x int")
    count = IntegerParameter("Count")


def build(
    body: Body, config: Mapping[str, object] | None = None, mounts: Mapping[str, Path] | None = None
) -> tuple[Ports, object]:
    """Build the queries of a logic with a function as its body."""
    ports: Any = Ports()
    session: Any = None
    context = SparkStreamletContext(
        session=session, streamlet_ref="one", config=config or {}, volume_mounts=mounts or {}, ports=ports
    )
    logic = type("Logic", (Streamlet.Logic,), {"body": staticmethod(body)})(Streamlet(), context)
    return ports, logic.build()


def build_error(body: Body) -> StreamletError:
    """Return the error of a build, which has a place in this file."""
    with pytest.raises(StreamletError) as raised:
        build(body)
    place = raised.value.place
    assert place is not None and place.file == __file__
    assert f"at {place.span.file}, line {place.line}" in str(raised.value)
    return raised.value


def write(query: str, *outlets: str) -> StreamingWrite:
    """Return a write like one of `write_stream`."""
    return StreamingWrite(query, None, outlets)  # type: ignore[arg-type]


def test_a_source_has_the_name_of_its_inlet_by_default() -> None:
    """Spark's source names have no hyphens."""

    def body(logic: Any) -> list[object]:
        logic.read_stream(logic.streamlet.raw_data)
        logic.read_stream(logic.streamlet.raw_data, name="again", metadata=True)
        return []

    ports, _ = build(body)
    assert ports.reads == [("raw-data", "raw_data", False), ("raw-data", "again", True)]


def test_an_outlet_cannot_be_read() -> None:
    """The message lists the inlets."""
    error = build_error(lambda logic: logic.read_stream(logic.streamlet.result))
    assert error.message == (
        "`read_stream` expects an inlet of `Streamlet`, found AvroOutlet('result'): use one of its inlets, `raw-data`"
    )


def test_a_port_of_another_streamlet_cannot_be_used() -> None:
    """Ports are compared by identity, not by name."""
    error = build_error(lambda logic: logic.read_stream(Other.raw_data))
    assert error.message == (
        "`read_stream` expects an inlet of `Streamlet`, found AvroInlet('raw-data'): use one of its inlets, `raw-data`"
    )


def test_a_source_name_must_be_valid_in_a_checkpoint() -> None:
    """Spark accepts letters, digits and `_`."""
    error = build_error(lambda logic: logic.read_stream(logic.streamlet.raw_data, name="raw-again"))
    assert error.message == "`raw-again` is not a valid source name: use letters, digits and `_`"


def test_at_least_one_outlet_is_written() -> None:
    """`write_streams` does not accept an empty mapping."""
    error = build_error(lambda logic: logic.write_streams(None, {}))
    assert error.message.startswith("`write_streams` expects at least one outlet")


def test_an_outlet_cannot_be_written_twice() -> None:
    """This includes writes with several outlets; the message has the line of the first write."""

    def body(logic: Any) -> object:
        first = logic._build.add(write("result", "result"))
        return [first, logic._build.add(write("both", "rest", "result"))]

    error = build_error(body)
    assert error.message.startswith("the outlet `result` is written twice, here and in line ")
    assert error.place is not None and f"line {error.place.line - 1}" in error.message


def test_query_names_are_unique() -> None:
    """Case does not distinguish names, as some file systems ignore it in checkpoint directories."""

    def body(logic: Any) -> object:
        return [logic._build.add(write("Split", "result")), logic._build.add(write("split", "rest"))]

    assert build_error(body).message.startswith("duplicate query name `split`")


@pytest.mark.parametrize("name", ["", "a/b", "..", "-a", "a b"])
def test_a_query_name_must_be_a_valid_directory_name(name: str) -> None:
    """The checkpoint directory has the name of the query."""
    assert "is not a valid query name" in build_error(lambda logic: logic._build.add(write(name, "result"))).message


@pytest.mark.parametrize(("returned", "description"), [(None, "nothing"), ([1], "a `int`"), (Streamlet, "`<class '")])
def test_the_result_of_a_build_is_checked(returned: object, description: str) -> None:
    """It consists of writes and queries."""
    with pytest.raises(StreamletError) as raised:
        build(lambda logic: returned)
    assert f"build_streaming_queries` returned {description}" in raised.value.message


def test_a_write_must_be_returned() -> None:
    """It would never run; the error has the place where it was created."""

    def body(logic: Any) -> object:
        logic._build.add(write("result", "result"))
        return []

    assert build_error(body).message.startswith("the query `result` was created but not returned")


def test_a_second_build_may_use_the_same_names() -> None:
    """Each build starts without names."""
    context = SparkStreamletContext(session=None, streamlet_ref="one", config={}, volume_mounts={}, ports=Ports())  # type: ignore[arg-type]

    class Twice(Streamlet.Logic):
        def build_streaming_queries(self) -> Any:
            return self._build.add(write("result", "result"))

    logic = Twice(Streamlet(), context)
    assert [getattr(write, "query", None) for write in (*logic.build(), *logic.build())] == ["result", "result"]


def test_a_parameter_without_a_value_is_an_error() -> None:
    """A required parameter needs a setting, an optional one a default in the code."""
    assert "set it in the blueprint" in build_error(lambda logic: logic.value(logic.streamlet.window)).message
    assert "pass `value` a default" in build_error(lambda logic: logic.value(logic.streamlet.title)).message
    build(lambda logic: [] if logic.value(logic.streamlet.title, "x") == "x" else None)
    build(lambda logic: [] if logic.value(logic.streamlet.title, "x") == "y" else None, {"title": "y"})


def test_a_parameter_of_another_streamlet_cannot_be_used() -> None:
    """The parameter must be a declaration of the streamlet."""
    message = build_error(lambda logic: logic.value(Other.count)).message
    assert message == "IntegerParameter('count') is not a parameter of `Streamlet`"


def test_a_mount_has_a_directory_or_an_error_with_its_setting() -> None:
    """The error has the full name of the setting."""
    message = build_error(lambda logic: logic.mounted_path(logic.streamlet.models)).message
    assert "set `flow.streamlets.one.volume-mounts.models` to a directory" in message
    build(
        lambda logic: [] if logic.mounted_path(logic.streamlet.models) == Path("/m") else None,
        mounts={"models": Path("/m")},
    )


def test_an_error_outside_of_the_authors_code_has_no_place() -> None:
    """Frames of the framework and of libraries are not frames of the author."""
    raised: list[StreamletError] = []

    def on_another_thread(make: Callable[[str], StreamletError]) -> None:
        thread = threading.Thread(target=map(raised.append, map(make, ["no place"])).__next__)
        thread.start()
        thread.join()

    on_another_thread(StreamletError)
    assert raised[0].place is None and str(raised[0]) == "no place"


def test_a_streamlet_needs_a_logic_to_run() -> None:
    """The message names the missing class."""
    context = SparkStreamletContext(session=None, streamlet_ref="one", config={}, volume_mounts={}, ports=Ports())  # type: ignore[arg-type]
    with pytest.raises(StreamletError, match="`Other` has no class `Logic`, so"):
        Other().run(context)
