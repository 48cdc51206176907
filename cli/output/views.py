"""The views that `flow run` can have: its output, and further ones by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from blueprint.core_settings import ApplicationSettings
from blueprint.hocon import shown_name
from blueprint.settings.secret_sources import secrets_of_process
from blueprint.spelling import suggestion
from cli.output.live import JsonView, LineView, TableView
from streamlets.plugins import PluginError, Plugins
from streamlets.runner.events.detached import Detached
from streamlets.runner.events.view import View
from streamlets.runner.views import VIEWS_GROUP, ViewContext, ViewError, ViewType


class JsonLines:
    """Events as JSON lines, on the standard output or in a file."""

    def open(self, context: ViewContext) -> View:
        """Return the view; its argument is the file, to which it appends."""
        return JsonView(Path(context.argument) if context.argument else None)


class Lines:
    """A line per event on the standard output."""

    def open(self, context: ViewContext) -> View:
        """Return the view."""
        return LineView(shown_name(context.state.logs))


class Table:
    """A live table on the terminal."""

    def open(self, context: ViewContext) -> View:
        """Return the view."""
        inlets = [inlet for streamlet in context.plan.streamlets for inlet in streamlet.inlets]
        topics = {(inlet.streamlet, inlet.name): inlet.topic for inlet in inlets}
        return TableView(shown_name(context.state.logs), topics=topics if context.bounded else None)


VIEWS: Plugins[ViewType] = Plugins(
    VIEWS_GROUP,
    "view",
    {kind.__name__.lower(): f"{__name__}:{kind.__name__}" for kind in (Lines, Table)}
    | {
        "jsonl": f"{__name__}:JsonLines",
        "metrics": "streamlets.metrics.view:Metrics",
        "ui": "cli.ui.run_view:RunPage",
        "traces": "streamlets.traces.view:Traces",
        "openlineage": "streamlets.lineage.openlineage.view:OpenLineage",
    },
    ("open",),
)
"""The views by name."""


def _requested(views: Sequence[str], settings: ApplicationSettings) -> tuple[str, ...]:
    """Return all further views of a run: `metrics` and `traces` are among them if their settings are set."""
    named = {text.partition("=")[0] for text in views}
    wanted = {"metrics": settings.metrics.port, "traces": settings.telemetry.endpoint}
    return (*views, *(name for name, value in wanted.items() if value and name not in named))


def open_views(output: str, more: Sequence[str], context: ViewContext) -> tuple[View, ...]:
    """Return the views of a run, its output first. Each of the others has a thread of its own.

    The views `metrics` and `traces` are among them if their settings are set.

    Arguments:
        output: the name of the view on the standard output.
        more: further views, as `NAME` or `NAME=ARGUMENT`.
        context: of the output.

    Raises:
        ViewError: a view is not known, cannot be opened, or needs the standard output, too.
    """
    shown = VIEWS[output].open(context)
    return (shown, *(_detached(text, context, shown.print_line) for text in _requested(more, context.plan.settings)))


def _detached(text: str, context: ViewContext, print_line: Callable[[str], None]) -> View:
    name, _, argument = text.partition("=")

    def warn(text: str) -> None:
        print_line(f"warning: {text}")

    try:
        view = VIEWS[name].open(replace(context, argument=argument, warn=warn))
    except KeyError:
        raise ViewError(f"there is no view `{name}`; {suggestion(name, VIEWS)}") from None
    except (PluginError, ViewError) as error:
        raise ViewError(f"the view `{name}` cannot be opened: {error}") from None
    if view.on_stdout:
        raise ViewError(f"the view `{text}` needs the standard output; request it by `--format {name}`")
    secrets = secrets_of_process(context.plan, os.environ)

    def failed(error: Exception) -> None:
        cause = secrets.masked(f"{type(error).__name__}: {error}")
        print_line(f"warning: the view `{name}` has failed and shows nothing more; the run goes on: {cause}")

    return Detached(view, failed)


@contextmanager
def entered(views: Sequence[View]) -> Iterator[None]:
    """Enter the views of a run, and leave them in reverse order.

    Raises:
        ViewError: a view cannot be entered.
    """
    with ExitStack() as stack:
        for view in views:
            try:
                stack.enter_context(view)
            except OSError as error:
                raise ViewError(f"a view cannot be opened: {error}") from error
        yield
