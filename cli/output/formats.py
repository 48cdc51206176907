"""`--format`, as most commands have it: for the eye, or as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def format_option(
    eye: str = "table", data: str = "json", help: str = "For the eye, or as data."
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--format`, which is one of two words; left out, it is that for the eye."""
    return click.option("--format", "form", type=click.Choice([eye, data]), default=eye, show_default=True, help=help)
