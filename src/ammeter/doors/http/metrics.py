"""Prometheus figures of the HTTP doors. Labels are route templates, never ids or names of customers."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from ammeter.base.errors import Unauthenticated
from ammeter.engines.sandbox.port import Counters
from ammeter.features.telemetry.model import KINDS
from ammeter.features.telemetry.recorder import Figures

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class HttpMetrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = Counter(
            "ammeter_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ammeter_http_request_seconds",
            "Time to answer a request.",
            ["route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._found: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.in_flight = 0
        """Requests being answered now; the edge counts them."""
        in_flight = Gauge(
            "ammeter_http_requests_in_flight", "Requests being answered now.", registry=self.registry
        )
        in_flight.set_function(lambda: self.in_flight)

    def watch_telemetry(self, figures: Callable[[], Figures]) -> None:
        """Show what the recorder of telemetry counts."""
        self.registry.register(_TelemetryFigures(figures))

    def watch_sandbox(self, counters: Callable[[], Counters]) -> None:
        """Show how the sandbox stands."""
        self.registry.register(_SandboxFigures(counters))

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        # The library looks its labels up under a lock, each time from new strings.
        found = self._found.get((method, route, status))
        if found is None:
            found = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._found[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)


class _TelemetryFigures(Collector):
    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        now = self._figures()
        stored = CounterMetricFamily("ammeter_telemetry_events", "Events stored.", labels=["kind"])
        for kind in KINDS:
            stored.add_metric([kind], now.stored.get(kind, 0))
        yield stored
        dropped = CounterMetricFamily(
            "ammeter_telemetry_dropped_events", "Events dropped.", labels=["kind", "reason"]
        )
        for labels, count in sorted(now.dropped.items()):
            dropped.add_metric(labels, count)
        yield dropped
        for name, words, count in (
            ("content_dropped_events", "Events stored without their texts.", now.content_dropped),
            ("secrets_stripped", "Secrets taken out of events.", now.secrets_stripped),
            (
                "failed_writes",
                "Writes of events that failed and were or will be repeated.",
                now.failed_writes,
            ),
        ):
            yield CounterMetricFamily(f"ammeter_telemetry_{name}", words, value=count)
        yield GaugeMetricFamily(
            "ammeter_telemetry_buffered_events", "Events not yet stored.", value=now.buffered
        )
        yield GaugeMetricFamily(
            "ammeter_telemetry_buffered_bytes", "About their size in memory.", value=now.buffered_bytes
        )


class _SandboxFigures(Collector):
    def __init__(self, counters: Callable[[], Counters]) -> None:
        self._counters = counters

    def collect(self) -> Iterator[Metric]:
        now = self._counters()
        for name, words, value in (
            ("running", "Scripts that run now.", now.running),
            ("waiting", "Scripts that wait for room.", now.waiting),
            ("workers", "Workers alive.", now.workers),
        ):
            yield GaugeMetricFamily(f"ammeter_sandbox_{name}", words, value=value)
        for name, words, value in (
            ("scripts", "Scripts begun.", now.scripts),
            ("busy", "Scripts that found no room.", now.busy),
            ("restarts", "Workers that were replaced.", now.restarts),
        ):
            yield CounterMetricFamily(f"ammeter_sandbox_{name}", words, value=value)


def metrics_page(metrics: HttpMetrics, token: str, request: Request) -> Response:
    sent = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token and not hmac.compare_digest(sent.encode(), token.encode()):
        raise Unauthenticated
    return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")
