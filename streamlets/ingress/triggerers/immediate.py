"""`immediate`: one discovery at each start of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamlets.ingress.triggerers.base import Trigger, TriggererContext, TriggererOption, TriggererProblem
from streamlets.ingress.triggerers.options import unknown_keys


class ImmediateTriggerer:
    """Calls for one discovery when the source starts, with an empty event."""

    once = True
    options: tuple[TriggererOption, ...] = ()

    def problems(self, config: Mapping[str, Any], context: TriggererContext) -> Iterator[TriggererProblem]:
        """Yield problems with the configuration, which must be empty."""
        yield from unknown_keys(config, self.options)

    def init(self, config: Mapping[str, Any], context: TriggererContext) -> None:
        """Take nothing."""

    def start(self, trigger: Trigger) -> None:
        """Call for the discovery."""
        trigger("")

    def stop(self) -> None:
        """Do nothing."""
