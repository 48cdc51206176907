"""The settings of a spout's program, from its config parameters, and what can be wrong with them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blueprint.catalog import ParameterProblem
from blueprint.spelling import suggestion
from streamlets.ingress.secret_source import SecretSource, secret_source
from streamlets.ingress.spouts.program import environment

_FIRST_UNPRIVILEGED = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
_SECRET_KEYS = ("env", "file", "as")
_RESERVED = "STREAMLETS_"


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """The settings of a program.

    Arguments:
        command: the program and its arguments.
        env: its variables.
        stdin: the lines of its standard input.
        directory: its working directory.
        accepted: the exit codes with which it completes.
        secrets: its secrets.
        port: the port that it listens on; None without one.
    """

    command: tuple[str, ...]
    env: Mapping[str, str]
    stdin: str
    directory: Path
    accepted: frozenset[int]
    secrets: tuple[SecretSource, ...]
    port: int | None


def program_settings(values: Mapping[str, Any], directory: Path) -> ProgramSettings:
    """Return the settings for values that have no problems.

    Arguments:
        values: the values of the parameters of a `streamlets.Spout`, by key.
        directory: the directory of the blueprint, in which the program runs by default and relative paths start.
    """
    lines = values.get("stdin", [])
    return ProgramSettings(
        command=tuple(values["cmd"]),
        env={name: _text(value) for name, value in values.get("env", {}).items()},
        stdin="".join(f"{line}\n" for line in lines),
        directory=values.get("working-dir") or directory,
        accepted=frozenset({0, *(int(code) for code in values.get("accept-return-codes", []))}),
        secrets=tuple(secret_source(name, source, directory) for name, source in values.get("secrets", {}).items()),
        port=values.get("service", {}).get("port"),
    )


def program_problems(values: Mapping[str, Any], directory: Path) -> Iterator[ParameterProblem]:
    """Yield problems with the values of the parameters of a `streamlets.Spout`; as for `program_settings`."""
    yield from _command_problems(values, directory)
    for name, value in values.get("env", {}).items():
        yield from _variable_problems("env", name)
        if isinstance(value, dict | list) or value is None:
            yield ParameterProblem(("env", name), f"the value of `{name}` must be a string, found {_noun(value)}")
    for code in values.get("accept-return-codes", []):
        if not (code.isascii() and code.isdigit() and int(code) <= 255):
            message = f"`{code}` is not an exit code: exit codes are whole numbers from 0 to 255"
            yield ParameterProblem(("accept-return-codes",), message)
    for name, source in values.get("secrets", {}).items():
        yield from _variable_problems("secrets", name)
        yield from _secret_problems(name, source, directory)
    yield from _service_problems(values.get("service", {}))


def _command_problems(values: Mapping[str, Any], directory: Path) -> Iterator[ParameterProblem]:
    command = values["cmd"]
    if not command or not command[0]:
        yield ParameterProblem(("cmd",), "the command is empty", ("set the program and its arguments as a list",))
        return
    if any("\0" in argument for argument in command):
        yield ParameterProblem(("cmd",), "an argument of the command has a null character")
        return
    program = command[0]
    path = environment({name: _text(value) for name, value in values.get("env", {}).items()})["PATH"]
    if "/" in program:
        problem = _file_problem((values.get("working-dir") or directory) / program)
    else:
        problem = "" if shutil.which(program, path=path) else "is not in the directories of `PATH`"
    if problem:
        message = f"the program `{program}` {problem}"
        yield ParameterProblem(("cmd",), message, ("install it, or correct the command",))


def _file_problem(file: Path) -> str:
    if not file.exists():
        return "does not exist"
    if file.is_dir():
        return "is a directory"
    return "" if os.access(file, os.X_OK) else "is not executable"


def _variable_problems(key: str, name: str) -> Iterator[ParameterProblem]:
    if not name or "=" in name or "\0" in name:
        yield ParameterProblem((key, name), f"`{name}` is not the name of an environment variable")
    elif name.startswith(_RESERVED):
        yield ParameterProblem((key, name), f"`{name}` is reserved: variables that begin with `{_RESERVED}` are set by "
                               "the runner", ("use another name",))  # fmt: skip


def _secret_problems(name: str, source: object, directory: Path) -> Iterator[ParameterProblem]:
    path = ("secrets", name)
    if not isinstance(source, dict) or ("env" in source) == ("file" in source):
        message = f"the secret `{name}` must have either `env` or `file`"
        help = f"write `{name} {{ file = /run/secrets/name }}` or `{name} {{ env = VARIABLE }}`"
        yield ParameterProblem(path, message, (help,))
        return
    for key in source:
        if key not in _SECRET_KEYS:
            yield ParameterProblem((*path, key), f"a secret has no key `{key}`; {suggestion(key, _SECRET_KEYS)}",
                                   about="key")  # fmt: skip
    if "as" in source and ("env" in source or source["as"] not in ("value", "path")):
        yield ParameterProblem((*path, "as"), "`as` is `value` or `path`, for a secret from a file")
        return
    try:
        secret_source(name, source, directory).value()
    except OSError as error:
        why = f"`{error.filename}`: {error.strerror}" if error.filename else error.strerror or error
        yield ParameterProblem(
            path, f"the secret `{name}` is not available: {why}", ("provide it, or correct where it comes from",)
        )
    except UnicodeDecodeError:
        if source.get("as") != "path":
            yield ParameterProblem(path, f"the secret `{name}` is not text", ("set `as = path`",))


def _service_problems(service: Mapping[str, object]) -> Iterator[ParameterProblem]:
    for key in service:
        if key != "port":
            yield ParameterProblem(("service", key), f"a service has no key `{key}`; its only key is `port`",
                                   about="key")  # fmt: skip
    if not service or "port" not in service:
        return
    port = service["port"]
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        yield ParameterProblem(("service", "port"), f"`{port}` is not a port: ports are whole numbers from 1 to 65535")
    elif port < _first_unprivileged() and os.geteuid() != 0:
        yield ParameterProblem(
            ("service", "port"), f"the port {port} is privileged: only root may listen on it",
            (f"use a port from {_first_unprivileged()}",),
        )  # fmt: skip


def _first_unprivileged() -> int:
    with suppress(OSError, ValueError):
        return int(Path(_FIRST_UNPRIVILEGED).read_text())
    return 1024


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _noun(value: object) -> str:
    return "null" if value is None else "a list" if isinstance(value, list) else "an object"
