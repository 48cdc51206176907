"""The manual of the codes: a page of Markdown for each, `docs/diagnostics/<code>.md`, which goes with the package."""

from __future__ import annotations

import re
from importlib import resources

from blueprint.diagnostics.codes import CODES, FAMILIES

_AS_PRINTED = re.compile(r"\w*\[(.+)\]:?")


def page(code: str) -> str:
    """The Markdown page of a code.

    Raises:
        KeyError: there is no such code.
    """
    if code not in CODES:
        raise KeyError(code)
    # `pages` is a link to `docs/diagnostics` in a checkout, and a folder of the package once that is installed.
    return (resources.files("blueprint.diagnostics") / "pages" / f"{code}.md").read_text(encoding="utf-8")


def family(code: str) -> str:
    """The family that a code is of.

    Raises:
        KeyError: there is no such code.
    """
    for name, codes in FAMILIES.items():
        if code in codes:
            return name
    raise KeyError(code)


def code_of(text: str) -> str:
    """The code in what a user took from a report: `unknown-port` and `error[unknown-port]:` alike."""
    found = _AS_PRINTED.fullmatch(text.strip())
    return found[1] if found else text.strip()
