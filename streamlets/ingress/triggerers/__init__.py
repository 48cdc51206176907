"""Triggerers, which wake a batch source: they call for a discovery at times, on new files or on a request."""

from blueprint.catalog import ParameterType
from streamlets.ingress.triggerers.base import (
    Trigger,
    Triggerer,
    TriggererContext,
    TriggererOption,
    TriggererProblem,
)
from streamlets.ingress.triggerers.clock import Clock, SystemClock

__all__ = [
    "Clock",
    "ParameterType",
    "SystemClock",
    "Trigger",
    "Triggerer",
    "TriggererContext",
    "TriggererOption",
    "TriggererProblem",
]
