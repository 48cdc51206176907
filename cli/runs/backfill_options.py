"""The types of options and arguments of backfills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.records import TimeType

if TYPE_CHECKING:
    from streamlets.backfills.model import Bound


class BoundType(click.ParamType["Bound"]):
    """The value of an option: a time, an age, or a position as `flow checkpoints show` shows it."""

    name = "bound"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Bound:
        """Return a bound of a range."""
        from streamlets.backfills.model import Bound

        if isinstance(value, Bound):
            return value
        text = str(value)
        return Bound(text) if "#" in text else Bound(text, TimeType().convert(text, param, ctx))


class NameType(click.ParamType[str]):
    """The name of a backfill."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        from streamlets.backfills.model import BackfillError, require_name

        try:
            require_name(str(value))
        except BackfillError as error:
            self.fail(str(error), param, ctx)
        return str(value)
