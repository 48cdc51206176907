"""Errors as commands print them on the standard error."""

from __future__ import annotations

from typing import NoReturn

import click


def print_error(message: str, *help: str) -> None:
    """Print an error on the standard error, with a line for each piece of help that is not empty."""
    click.echo("\n".join([f"error: {message}", *(f"  help: {line}" for line in help if line)]), err=True)


def fail(message: str, *help: str) -> NoReturn:
    """Print an error, and exit with code 1."""
    print_error(message, *help)
    raise SystemExit(1)
