"""HTML for notebooks: texts with code in back-quotes, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_CODE = re.compile(r"`([^`]+)`")


def html_text(text: str) -> str:
    """Return a message as HTML; what is in back-quotes is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or nothing without rows.

    Arguments:
        title: the text above the table.
        header: the names of the columns.
        rows: the cells as messages, see `html_text`.
    """
    left = ' style="text-align:left"'
    lines = ["".join(f"<td{left}>{html_text(cell)}</td>" for cell in row) for row in rows]
    if not lines:
        return ""
    head = "".join(f"<th{left}>{html_text(name)}</th>" for name in header)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption{left}>{html_text(title)}</caption><tr>{head}</tr>{body}</table>"
