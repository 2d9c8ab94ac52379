"""What the gateway counts, by route and by back end."""

from heliostat.runtime.metrics import Registry

ROUTE = ("namespace", "route")


class Telemetry:
    def __init__(self, registry: Registry) -> None:
        self.requests = registry.counter(
            "heliostat_gateway_requests_total",
            "Requests that were answered, by HTTPRoute and status; without a route when none matched.",
            *ROUTE,
            "code",
        )
        self.seconds = registry.histogram(
            "heliostat_gateway_request_seconds",
            "Seconds from the head of a request until the end of its answer.",
            *ROUTE,
        )
        self.backends = registry.counter(
            "heliostat_gateway_backend_requests_total",
            "Requests that were given to a Service, whatever became of them.",
            "namespace",
            "service",
        )
        self.retries = registry.counter(
            "heliostat_gateway_retries_total",
            "Requests that were sent again because they had not reached a back end.",
            *ROUTE,
        )
        self.broken = registry.counter(
            "heliostat_gateway_broken_answers_total",
            "Answers that broke off after the client had seen their beginning.",
            *ROUTE,
        )
