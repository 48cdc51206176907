"""Conditions are checked without Spark; what only Spark knows is left to it."""

from __future__ import annotations

import pytest

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Span
from blueprint.sql.conditions import condition_faults

FIELDS = "id string, attempt int, ok boolean, at timestamp, call struct<code: int, tags: array<string>>"
LOADED = load_contract(FIELDS, base_directory=".", declared=Span("f", 1, 1, 1, 1)).contract
assert LOADED is not None
CONTRACT: Contract = LOADED


@pytest.mark.parametrize(
    "text",
    [
        "attempt <= 5",
        "ATTEMPT==5",
        "ok",
        "!ok OR NOT ok",
        "attempt<-1",
        "attempt BETWEEN 1 AND 5 AND ok IS NOT NULL",
        "id LIKE 'a%' OR call.code IN (1, 2) -- a comment",
        "id NOT RLIKE 'a' AND attempt IS DISTINCT FROM 3",
        "`attempt` <=> NULL",
        "coalesce(attempt, 0) + 1 < 5 * 2 - attempt % 2",
        "CAST(id AS int) < 5",
        "CASE WHEN ok THEN attempt < 5 ELSE false END",
        "at > current_timestamp - INTERVAL 5 DAYS",
        "at > TIMESTAMP '2026-01-01 00:00:00'",
        "5L > attempt",
        "attempt::string = '3'",
        "call.tags[0] = 'x'",
        "exists(call.tags, tag -> tag = 'x')",
        "attempt IN (SELECT 1)",
        "count(*) > 1",
        "(" * 90 + "ok" + ")" * 90,
    ],
)
def test_a_valid_condition_has_no_faults(text: str) -> None:
    """Spark accepts most of them, and judges the rest with `--plans` and when the query starts."""
    assert condition_faults(text, CONTRACT) == ()


@pytest.mark.parametrize(
    ("text", "place", "headline", "help"),
    [
        ("attempts <= 5", "attempts", "names `attempts`, which is not a field", "did you mean `attempt`?"),
        ("call.kode = 3", "kode", "names `kode`, which is not a field of `call`", "did you mean `code`?"),
        ("x = 3", "x", "names `x`, which is not a field", "the fields are `id`, `attempt`"),
        ("attempt", "attempt", "must be true or false, and is `int`", "`attempt <= 5`"),
        ("id", "id", "must be true or false, and is `string`", "write a comparison"),
        ("attempt + 1", "attempt + 1", "must be true or false, and is `int`", ""),
        ("cast(id as double)", "cast(id as double)", "must be true or false, and is `double`", ""),
        ("ok AND attempt", "attempt", "has `int` beside `AND`", ""),
        ("attempt =< 5", "=<", "has the unknown operator `=<`", "did you mean `<=`?"),
        ("ok && ok", "&&", "has the unknown operator `&&`", "did you mean `AND`?"),
        ("attempt <= ", "=", "has nothing more where a value is expected", ""),
        ("attempt 5", "5", "has `5` after a complete expression", "operator"),
        ("attempt IN 5", "5", "has `5` after `IN`", "in parentheses"),
        ("(attempt <= 5", "(", "has a `(` that is never closed", ""),
        ("attempt <= 5)", ")", "has a `)` too many", ""),
        ("attempt <= 'x", "attempt <= 'x", "cannot be read: the string is never closed", "close it"),
        ("attempt <= ${limit}", "${limit}", "has a variable of SQL jobs", "HOCON"),
        ("attempt < 5; ok", ";", "has `;` after a complete expression", ""),
    ],
)  # fmt: skip
def test_a_fault_has_its_place(text: str, place: str, headline: str, help: str) -> None:
    """The place is the part of the text that is wrong."""
    (fault,) = condition_faults(text, CONTRACT)
    assert headline in fault.headline
    assert text[fault.start : fault.end] == place
    assert help in " ".join(fault.help)
