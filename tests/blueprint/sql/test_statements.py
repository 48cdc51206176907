"""Jobs are understood, or refused with the messages that `statements.md` shows.

With `UPDATE_SPECIFICATION=1`, the messages are updated; the change is then read in the diff.
"""

from __future__ import annotations

import os

import pytest

from blueprint.diagnostics.codes import FAMILIES
from tests.blueprint.sql.jobs import DOCUMENT, Case, cases, result

TEXT = DOCUMENT.read_text(encoding="utf-8")
CASES = list(cases(TEXT))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_is_understood_or_refused_as_specified(case: Case) -> None:
    """The statements, or the mistakes in them, are exactly those of the specification."""
    actual = result(case)
    if os.environ.get("UPDATE_SPECIFICATION"):
        text, before = DOCUMENT.read_text(encoding="utf-8"), f"\n{case.text}\n{case.expected}\n"
        blocks = [f"```sql{before}", f"\n{before}"]
        old = next(block for block in blocks if block in text)
        new = old.removesuffix(f"{case.expected}\n") + f"{actual}\n"
        DOCUMENT.write_text(text.replace(old, new, 1), encoding="utf-8")
        return
    assert actual == case.expected


def test_the_specification_is_large_enough_and_has_every_code() -> None:
    """Each kind of mistake has an example, and there are both accepted and refused statements of each clause."""
    assert len(CASES) >= 120
    assert len({case.text for case in CASES}) == len(CASES)
    shown = {word.rstrip(":") for case in CASES for word in case.expected.split() if word.startswith("sql-")}
    assert shown == set(FAMILIES["SQL jobs"])
