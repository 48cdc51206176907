"""What a sink refuses before it starts: options it does not have, values they cannot have."""

from __future__ import annotations

import pytest

from streamlets.egress import SINKS

FILES = {"path": "out"}


@pytest.mark.parametrize(
    ("sink", "options", "problem"),
    [
        ("parquet", {}, "the sink `parquet` requires the option `path`: the directory of the files"),
        ("parquet", {"pth": "out"}, "the sink `parquet` has no option `pth`; did you mean `path`?"),
        ("parquet", {"path": "out", "existin": "fail"}, "has no option `existin`; did you mean `existing`?"),
        ("parquet", {"path": "out", "zzz": 1}, "has no option `zzz`; its options are `path`, `existing`, "),
        ("parquet", {"path": "out", "existing": "keep"}, "must be `fail`, `replace` or `append`, found `keep`"),
        ("parquet", {"path": {"a": 1}}, "the option `path` of the sink `parquet` must be a string, found an object"),
        ("parquet", {"path": "out", "max-records-per-file": "many"}, "must be a non-negative integer, found `many`"),
        (
            "csv",
            {"path": "out", "header": "perhaps"},
            "the option `header` of the sink `csv` must be `true` or `false`",
        ),
        ("terminal", {"path": "out"}, "the sink `terminal` has no option `path`; its options are `rows` and `title`"),
    ],
)
def test_invalid_options_are_reported(sink: str, options: dict[str, object], problem: str) -> None:
    """The message has the option, the sink and the expected value."""
    (reported,) = SINKS[sink].problems(options)
    assert problem in "; ".join((reported.message, *reported.help))
    assert reported.path[0] in ({*options} or {"path"})
    assert reported.about == ("key" if "has no option" in problem else "value")


def test_all_problems_are_reported() -> None:
    """Several mistakes are several problems."""
    assert len(list(SINKS["csv"].problems({"header": "perhaps", "sep": ";"}))) == 3


def test_options_have_their_types_and_defaults() -> None:
    """Values may be strings, as in settings of the command line; omitted options have their default."""
    values = SINKS["csv"].settings({"path": "out", "header": "no", "max-records-per-file": "10"})
    assert values["header"] is False
    assert values["max-records-per-file"] == 10
    assert values["separator"] == ","
    assert values["compression"] is None


def test_names_are_those_of_the_table() -> None:
    """The key of a sink is its name, and its options have different names."""
    for name, traits in SINKS.items():
        assert traits.name == name
        assert len({option.name for option in traits.options}) == len(traits.options)
