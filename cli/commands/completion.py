"""`flow completion`: the script that completes `flow` in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_NO_SPACE = "    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace\n\n    return 0\n"
"""In bash, the value of a setting is written directly after `key=`."""


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Write the script that completes commands, options, streamlets, topics and settings in SHELL.

    \b
    bash: eval "$(flow completion bash)"      in ~/.bashrc
    zsh:  eval "$(flow completion zsh)"       in ~/.zshrc, after compinit
    fish: flow completion fish | source       in ~/.config/fish/config.fish

    None of your code runs when the shell completes.
    """
    shell_class = get_completion_class(shell)
    assert shell_class is not None  # click supports the three shells
    script = shell_class(context.find_root().command, {}, "flow", "_FLOW_COMPLETE").source_vars()
    text = shell_class.source_template % script
    click.echo(text.replace("    return 0\n", _NO_SPACE) if shell == "bash" else text)
