"""The manual of the codes: a page of Markdown for each, `docs/diagnostics/<code>.md`, included in the package."""

from __future__ import annotations

import re
from importlib import resources

from blueprint.diagnostics.codes import CODES, FAMILIES

_AS_PRINTED = re.compile(r"\w*\[(.+)\]:?")


def page(code: str) -> str:
    """Return the Markdown page of a code.

    Raises:
        KeyError: there is no such code.
    """
    if code not in CODES:
        raise KeyError(code)
    # `pages` is a link to `docs/diagnostics` in a checkout, and a directory in the installed package.
    return (resources.files("blueprint.diagnostics") / "pages" / f"{code}.md").read_text(encoding="utf-8")


def family(code: str) -> str:
    """Return the name of a code's family.

    Raises:
        KeyError: there is no such code.
    """
    for name, codes in FAMILIES.items():
        if code in codes:
            return name
    raise KeyError(code)


def code_of(text: str) -> str:
    """Return the code in a text that a user copied from a report: `unknown-port` or `error[unknown-port]:`."""
    match = _AS_PRINTED.fullmatch(text.strip())
    return match[1] if match else text.strip()
