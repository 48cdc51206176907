"""Triggerers, which wake a batch source: they call for a discovery at times, on new files or on a request."""

from streamlets.ingress.triggerers.base import Trigger, Triggerer, TriggererContext, TriggererProblem
from streamlets.ingress.triggerers.clock import Clock, SystemClock

__all__ = ["Clock", "SystemClock", "Trigger", "Triggerer", "TriggererContext", "TriggererProblem"]
