"""`flow lsp`: the language server of blueprints, for editors."""

from __future__ import annotations

import os
import sys

import click

from cli.groups import imports_modules


@imports_modules()
@click.command()
def lsp() -> None:
    """Answer an editor about blueprints (Language Server Protocol), on the standard input and output.

    Editors start it: see docs/editors.md. It reports the findings of `flow verify` while you type, and imports the
    modules of the application for that. It needs the extra `lsp`: `pip install 'streamlets[lsp]'`.
    """
    try:
        from cli.lsp.server import BlueprintServer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise click.ClickException("`flow lsp` needs the package pygls: pip install 'streamlets[lsp]'") from None
    # The modules of an application may print. Their output goes to the standard error, which editors log.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        BlueprintServer().run(sys.stdin.buffer, answers)
