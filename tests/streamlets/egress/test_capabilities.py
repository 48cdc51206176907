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
def test_bad_options_are_told(sink: str, options: dict[str, object], problem: str) -> None:
    """One sentence says which option of which sink, and what it may be."""
    (found,) = SINKS[sink].problems(options)
    assert problem in "; ".join((found.message, *found.help))
    assert found.path[0] in ({*options} or {"path"})
    assert found.about == ("key" if "has no option" in problem else "value")


def test_every_problem_is_told_at_once() -> None:
    """Several mistakes give several sentences."""
    assert len(list(SINKS["csv"].problems({"header": "perhaps", "sep": ";"}))) == 3


def test_options_have_their_types_and_defaults() -> None:
    """Values may come as text, as settings from the command line do; what is left out has its default."""
    found = SINKS["csv"].settings({"path": "out", "header": "no", "max-records-per-file": "10"})
    assert found["header"] is False
    assert found["max-records-per-file"] == 10
    assert found["separator"] == ","
    assert found["compression"] is None


def test_names_are_those_of_the_table() -> None:
    """A sink is found under its own name, and its options are named once."""
    for name, traits in SINKS.items():
        assert traits.name == name
        assert len({option.name for option in traits.options}) == len(traits.options)
