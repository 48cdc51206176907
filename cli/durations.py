"""Durations as options: `30s`, `5 minutes`."""

from __future__ import annotations

import click


class DurationType(click.ParamType[float]):
    """Gives seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds of a duration."""
        from blueprint.quantities import duration

        if isinstance(value, float):
            return value
        if str(value).strip().replace(".", "").isdigit():
            self.fail(f"{value} of what? Give a unit, such as `{value}s`", param, ctx)
        try:
            return duration(str(value)).seconds
        except ValueError as error:
            self.fail(str(error), param, ctx)
