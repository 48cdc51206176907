"""The page of the triggers, from `streamlets.triggers`."""

from __future__ import annotations

import inspect

from manual.reference.markdown import description, signature
from streamlets import triggers

IN_BLUEPRINTS = {
    "processing_time": "trigger.processing-time = 5 seconds",
    "available_now": "trigger = available-now",
    "real_time": "trigger.real-time = 5 minutes",
}
"""Each trigger as a blueprint writes it."""

_INTRODUCTION = """\
# Triggers

A trigger determines when a query reads new records. `flow.trigger` sets that of all queries,
`flow.streamlets.<ref>.trigger` that of a streamlet, and the argument `trigger` of `write_stream` that of a query.
Without one, batches follow each other without a pause.
`flow run --available-now` overrides all of them.
"""


def triggers_page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for name, setting in IN_BLUEPRINTS.items():
        function = getattr(triggers, name)
        parts.append(
            f"## `{setting.split(' = ')[0].removeprefix('trigger.').removeprefix('trigger') or 'available-now'}`\n\n"
            f"```hocon\n{setting}\n```\n\n```python\ntriggers.{signature(name, function)}\n```\n\n"
            f"{description(inspect.getdoc(function) or '')}\n"
        )
    return "\n".join(parts)
