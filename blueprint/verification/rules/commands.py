"""Rules about the commands of programs such as spouts, which all users of the machine can read."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import ListValue, Scalar, span_of
from blueprint.model.draft import Draft
from blueprint.settings.secret_texts import option_secrets
from blueprint.settings.secrets import words_of


def secrets_in_commands(draft: Draft) -> Iterator[Diagnostic]:
    """No word of the command of a program is a secret."""
    for ref, descriptor in draft.descriptors():
        command = draft.section(ref, "parameters").get(descriptor.kind.command)
        if not isinstance(command, ListValue):
            continue
        for word, follows_option in words_of(command.items):
            if isinstance(word, Scalar) and (follows_option or any(option_secrets(word.text))):
                yield finding(
                    "secret-in-command",
                    f"`{ref}`: the command of the program has a secret",
                    word.origins[-1].via or span_of(word),
                    causes=("all users of a machine can read the command lines of its processes",),
                    help=("pass it by `secrets { NAME { env = VARIABLE } }`; the program reads the variable `NAME`",),
                    streamlets=(ref,),
                )
