"""The metrics of a run in the text format of Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from streamlets.metrics.families import FAMILIES
from streamlets.metrics.family import Scene

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

CACHED = 1.0
"""Seconds for which the metrics are computed once, however many clients ask for them."""


class _Collector:
    """Computes the metrics of a scrape, as the client library asks for them."""

    def __init__(self, scene: Callable[[], Scene]) -> None:
        self._scene = scene

    def collect(self) -> Iterator[Metric]:
        """Yield each metric that has values."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        scene = self._scene()
        for family in FAMILIES:
            metric: Metric
            if family.kind == "histogram":
                metric = histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
                for labels, counted in family.histograms(scene):
                    histogram.add_metric(labels, list(counted.buckets), counted.sum)
            else:
                make = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
                metric = simple = make(family.name, family.help, labels=family.labels)
                for labels, value in family.values(scene):
                    simple.add_metric(labels, value)
            if metric.samples:
                yield metric


class Exposition:
    """The metrics as bytes, for any number of threads.

    Arguments:
        scene: returns what they are computed from.
        timer: seconds of a monotonic clock.
    """

    def __init__(self, scene: Callable[[], Scene], timer: Callable[[], float] = time.monotonic) -> None:
        from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

        self._registry = CollectorRegistry(auto_describe=False)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(_Collector(scene))
        self._timer = timer
        self._lock = threading.Lock()
        self._rendered = b""
        self._until = float("-inf")

    def render(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        from prometheus_client import generate_latest

        with self._lock:
            if self._timer() >= self._until:
                self._rendered = generate_latest(self._registry)
                self._until = self._timer() + CACHED
            return self._rendered
