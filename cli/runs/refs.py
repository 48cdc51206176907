"""Names of streamlets among the arguments of a command."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import click


def check_refs(refs: Sequence[str], known: Collection[str], application: str) -> None:
    """Check that an application has the streamlets; without a known one, all names are allowed.

    Arguments:
        refs: the names.
        known: the names of its streamlets.
        application: its name.

    Raises:
        click.UsageError: a name is unknown.
    """
    from blueprint.spelling import suggestion

    for ref in refs if known else ():
        if ref not in known:
            hint = suggestion(ref, known, f"its streamlets are {', '.join(known)}")
            if Path(ref).exists():
                hint = f"name the application's directory with `--path {ref}`"
            raise click.UsageError(f"{application} has no streamlet `{ref}`; {hint}")
