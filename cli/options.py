"""Arguments and options that several commands have: `[PATH]`, `--format` and durations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class DurationType(click.ParamType[float]):
    """An option's duration, such as `30s` or `5 minutes`, as seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds of a duration."""
        from blueprint.quantities import duration

        if isinstance(value, float):
            return value
        if str(value).strip().replace(".", "").isdigit():
            self.fail(f"`{value}` has no unit; write, for example, `{value}s`", param, ctx)
        try:
            return duration(str(value)).seconds
        except ValueError as error:
            self.fail(str(error), param, ctx)


PAGE_PORT = 8265
"""The port of the page, unless another one is given."""


class DirectoryType(click.Path):
    """The value of an option: the path of a directory, which is not empty, as an unset variable of a shell would be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if str(value) == "":
            self.fail("the path of a directory must not be empty", param, ctx)
        return super().convert(value, param, ctx)


class PortType(click.ParamType[int]):
    """The value of an option that may be omitted: a port."""

    name = "port"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a port."""
        text = str(value)
        if not text.isdecimal() or int(text) > 65535:
            self.fail(f"`{text}` is not a port: write a number up to 65535, or the path before the option", param, ctx)
        return int(text)


def path_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `[PATH]`: a blueprint or its directory, by default the working directory."""
    return click.argument("path", type=click.Path(path_type=Path), default=Path())(command)


def master_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--master`, which overrides the setting `flow.cluster.master`."""
    return click.option(
        "--master", metavar="URL",
        help="The Spark master (default: the setting flow.cluster.master, or all cores of this machine).",
    )(command)  # fmt: skip


def timeout_option(help: str) -> Decorator:
    """Give a command `--timeout`."""
    return click.option("--timeout", type=DurationType(), metavar="DURATION", help=help)


def progress_format_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that follows a run `--format`: lines for people, or a JSON object per line."""
    return format_option(data="jsonl", help="The output format; jsonl is one JSON object per change.")(command)


def format_option(human: str = "text", data: str = "json", help: str = "The output format.") -> Decorator:
    """Give a command `--format`.

    Arguments:
        human: the name of the format for people, which is the default.
        data: the name of the format for programs.
        help: the option's help text.
    """
    choices = click.Choice([human, data])
    return click.option("--format", "form", type=choices, default=human, show_default=True, help=help)
