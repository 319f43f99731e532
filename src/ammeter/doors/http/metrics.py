"""Prometheus figures of the HTTP doors. Labels are route templates, never ids or names of customers."""

from __future__ import annotations

import hmac

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import Response

from ammeter.base.errors import Unauthenticated

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
        self.in_flight = Gauge(
            "ammeter_http_requests_in_flight", "Requests being answered now.", registry=self.registry
        )

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


def metrics_page(metrics: HttpMetrics, token: str, request: Request) -> Response:
    sent = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token and not hmac.compare_digest(sent.encode(), token.encode()):
        raise Unauthenticated
    return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")
