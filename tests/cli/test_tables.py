"""Tables of commands: complete in a pipe, folded on a terminal."""

from __future__ import annotations

import re

import pytest

from cli.output.tables import print_table

COLUMNS = ("plant", "records", "dead letters", "last commit (UTC)", "schema")
ROWS = [
    (
        "customer-orders-from-warehouses",
        "123,456,789",
        "4",
        "2026-11-23 15:12:11",
        "Order 1f0c, OrderOfOldCustomers 2a9e",
    )
]


def table(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of a table without colours."""
    print_table(COLUMNS, ROWS, right=("records", "dead letters"))
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()]


def test_a_pipe_gets_a_line_per_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is folded for a program."""
    monkeypatch.setenv("COLUMNS", "80")
    heading, row = table(capsys)
    assert re.split(r"  +", heading) == list(COLUMNS)
    assert re.split(r"  +", row) == list(ROWS[0])


@pytest.mark.parametrize(("width", "name"), [(60, "customer-o"), (90, ROWS[0][0]), (160, ROWS[0][0])])
def test_on_a_terminal_text_is_folded_and_nothing_is_cut(
    width: int, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are whole, and the first column is as long as there is room."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = table(capsys)
    assert all(len(line) <= width and "…" not in line for line in lines), lines
    row = next(line for line in lines if "123,456,789" in line)
    assert row.startswith(f"{name} ") if width != 60 else row.startswith(name)
    shown = "".join("".join(lines).split())
    for text in ("letters", "15:12:11"):
        assert text in shown
    assert (len(lines) == 2) == (width == 160)
