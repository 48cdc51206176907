"""Texts that an author declares: names, keys and patterns; anything else is refused where it is written."""

from __future__ import annotations


def text(value: object, what: str, remedy: str = "") -> str:
    """The value, when it is a text.

    Arguments:
        what: it is, to begin the sentence with; remedy: what was most probably meant.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {value!r:.60}{f': {remedy}' if remedy else ''}")
    return value
