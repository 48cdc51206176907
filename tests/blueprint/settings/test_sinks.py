"""What a sink rejects before it starts: options that it does not have, values that they cannot have, output modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.catalog import ParameterType, SinkOption, SinkTraits
from blueprint.quantities import Duration
from blueprint.settings.options import typed_options
from blueprint.settings.sinks import sink_problems, unknown_sink

FILES = SinkTraits(
    name="files",
    description="Files.",
    guarantee="exactly-once",
    options=(
        SinkOption(name="path", description="the directory of the files", type=ParameterType.PATH, required=True),
        SinkOption(name="existing", description="earlier files", default="fail", choices=("fail", "append")),
        SinkOption(name="age", description="the age", type=ParameterType.DURATION),
        SinkOption(name="rows", description="the number of rows", type=ParameterType.INTEGER, minimum=1),
        SinkOption(name="header", description="a header", type=ParameterType.BOOLEAN, default="true"),
    ),
    output_modes=("append", "complete"),
    exclusive=(("age", "rows"),),
)
BARE = SinkTraits(name="bare", description="Nothing.", guarantee="at-least-once")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "the sink `files` requires the option `path`: the directory of the files; add `options { path = ... }`"),
        ({"pth": "out"}, "the sink `files` has no option `pth`; did you mean `path`?"),
        ({"path": "out", "zzz": 1}, "has no option `zzz`; its options are `path`, `existing`, `age`, `rows` and `head"),
        ({"path": "out", "existing": "keep"}, "`keep` is not one of the choices; write `fail` or `append`"),
        ({"path": "out", "existing": "fial"}, "did you mean `fail`?"),
        ({"path": {"a": 1}}, "invalid value of the option `path` of the sink `files`: an object is not a path"),
        ({"path": ["a"]}, "a list is not a path"),
        ({"path": None}, "`null` is not a path"),
        ({"path": "s3a://bucket/out"}, "`s3a://bucket/out` is a URL, not a path of this machine"),
        ({"path": "file://host/out"}, "`file://host/out` is a URL, not a path of this machine"),
        ({"path": "out", "rows": "many"}, "`many` is not a whole number"),
        ({"path": "out", "rows": 0}, "invalid value of the option `rows` of the sink `files`: `0` is less than 1"),
        ({"path": "out", "age": "soon"}, "`soon` is not a duration"),
        ({"path": "out", "header": "perhaps"}, "`perhaps` is not a boolean; write `true`, `yes`"),
        ({"path": "out", "age": "1 hour", "rows": 5}, "`age` and `rows` cannot be combined; remove `age` or `rows`"),
    ],
)
def test_invalid_options_are_reported(options: dict[str, object], problem: str) -> None:
    """The message has the option, the sink and the expected value; the path leads to the option."""
    (reported,) = sink_problems(FILES, options)
    assert problem in "; ".join((reported.message, *reported.help))
    assert reported.path[0] == "options"
    assert reported.path[1] in ({*options} or {"path"})
    assert (reported.about == "key") == ("has no option" in problem or "combined" in problem)


def test_all_problems_are_reported() -> None:
    """Several mistakes are several problems."""
    assert len(list(sink_problems(FILES, {"header": "perhaps", "sep": ";"}))) == 3


@pytest.mark.parametrize(
    ("settings", "key", "problem"),
    [
        ({"output_mode": "update"}, "output-mode", "not accept output mode `update`; use `append` or `complete`"),
        ({"partition_by": ("a",)}, "partition-by", "does not support `partition-by`; remove `partition-by`"),
    ],
)
def test_capabilities_are_checked(settings: dict[str, Any], key: str, problem: str) -> None:
    """Output modes and partitioning are those of the sink."""
    (reported,) = sink_problems(FILES, {"path": "out"}, **settings)
    assert reported.path == (key,)
    assert problem in "; ".join((reported.message, *reported.help))
    assert not list(sink_problems(FILES, {"path": "out"}, output_mode="complete"))


def test_a_sink_without_options_says_so() -> None:
    """An option of a sink without options is reported, and there is no list of options."""
    (reported,) = sink_problems(BARE, {"path": "x"})
    assert reported.help == ("it has no options",)


def test_an_unknown_sink_gets_a_suggestion() -> None:
    """The suggestion is a near name, or else all names, and how others become available."""
    assert unknown_sink("fils", {"files": FILES, "bare": BARE}).help == ("did you mean `files`?",)
    assert unknown_sink("kinesis", {"files": FILES, "bare": BARE}).help == (
        "the available sinks are `files` and `bare`",
        "for another one, install the package that registers it; for one of your own, run `pip install -e .`",
    )


def test_options_have_their_types_and_defaults(tmp_path: Path) -> None:
    """Values may be strings, as in arguments of the command line; omitted options have their default, if any."""
    options = {"path": "out", "header": False, "rows": "10", "age": "1 hour"}
    assert typed_options(FILES, options, tmp_path) == {
        "path": tmp_path / "out",
        "existing": "fail",
        "age": Duration(3600 * 10**9),
        "rows": 10,
        "header": False,
    }
    for path in ("/out", "file:/out", "file:///out"):
        assert typed_options(FILES, {"path": path})["path"] == Path("/out")
    assert typed_options(FILES, {"path": "/out"}) == {"path": Path("/out"), "existing": "fail", "header": True}
