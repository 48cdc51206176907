"""Where a secret of a spout, a batch source or a triggerer comes from: an environment variable, or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from blueprint.settings.secrets import Secrets, is_reference


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a secret comes from.

    Arguments:
        name: the name of the secret; for a program, the environment variable in which it gets the secret.
        env: a variable of the runner; "" for a file.
        file: the path of a file; "" for a variable.
        as_path: whether a program gets the path of the file instead of its content.
    """

    name: str
    env: str
    file: str
    as_path: bool

    def value(self) -> str:
        """Return the secret.

        Raises:
            OSError: the variable is not set, or the file cannot be read.
            UnicodeDecodeError: the file is not text.
        """
        if self.env:
            if self.env not in os.environ:
                raise FileNotFoundError(f"the environment variable `{self.env}` is not set")
            return os.environ[self.env]
        return Path(self.file).read_text(encoding="utf-8").rstrip("\n")

    def mask_in(self, secrets: Secrets) -> None:
        """Have the secret replaced in texts; that in a file also when the file is replaced later."""
        if self.file:
            secrets.follow(Path(self.file))
        elif self.env in os.environ:
            secrets.add((os.environ[self.env], *os.environ[self.env].splitlines()))


def secret_source(name: str, reference: Mapping[str, object], directory: Path) -> SecretSource:
    """Return the source in a reference: `{ env = NAME }`, or `{ file = PATH }`, with `as = path` for a program.

    Arguments:
        name: the name of the secret.
        reference: the reference, without problems.
        directory: the directory in which relative paths start.
    """
    file = str(directory / Path(str(reference["file"])).expanduser()) if "file" in reference else ""
    return SecretSource(name, str(reference.get("env", "")), file, reference.get("as") == "path")


def read_secret(reference: object, directory: Path, secrets: Secrets) -> str:
    """Return the secret that a setting refers to, and have it replaced in texts from here on.

    Arguments:
        reference: `{ env = NAME }` or `{ file = PATH }`.
        directory: the directory in which relative paths start.
        secrets: takes the secret.

    Raises:
        ValueError: it is not a reference.
        OSError: the variable is not set, or the file cannot be read.
    """
    if not is_reference(reference) or not isinstance(reference, Mapping):
        raise ValueError("a secret must be `{ env = NAME }` or `{ file = PATH }`")
    source = secret_source("", reference, directory)
    source.mask_in(secrets)
    return source.value()
