"""Requests to the API server, under the names and labels of client-go, and by verb and resource under our own.

Rules: client-go's ``verb`` and ``method`` are the HTTP method, and a request without an answer has the code
``<error>``; what the fence held back or what got no turn was never a request; a watch has no time and size, as it has
no end.
"""

from typing import Final

from heliostat.runtime.client import NO_TURN, Exchange
from heliostat.runtime.errors import FencedError
from heliostat.runtime.metrics import Registry

IN_PROCESS: Final = "in-process"  # the host, where there is no network
NO_ANSWER: Final = "<error>"

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_RESOLVING_SECONDS = _SECONDS[:-1]
_BYTES = (64, 256, 512, *(2.0**power for power in (10, 12, 14, 16, 18, 20, 22, 24)))


class RequestMetrics:
    """``host`` is the server's, with its port. Hand ``exchanged`` to the client."""

    def __init__(self, registry: Registry, host: str = IN_PROCESS) -> None:
        self._host = host
        self._requests = registry.counter(
            "rest_client_requests_total", "Requests sent to the API server.", "code", "method", "host"
        )
        self._retries = registry.counter(
            "rest_client_request_retries_total", "Requests sent again after a failure.", "code", "verb", "host"
        )
        self._time = registry.histogram(
            "rest_client_request_duration_seconds",
            "From sending a request to its whole answer.",
            "verb",
            "host",
            buckets=_SECONDS,
        )
        self._wait = registry.histogram(
            "rest_client_rate_limiter_duration_seconds",
            "How long requests waited on our side for their turn.",
            "verb",
            "host",
            buckets=_SECONDS,
        )
        self._sent = registry.histogram(
            "rest_client_request_size_bytes", "Bodies of requests.", "verb", "host", buckets=_BYTES
        )
        self._received = registry.histogram(
            "rest_client_response_size_bytes", "Bodies of answers.", "verb", "host", buckets=_BYTES
        )
        self._resolving = registry.histogram(
            "rest_client_dns_resolution_duration_seconds",
            "How long it took to look up a host's addresses.",
            "host",
            buckets=_RESOLVING_SECONDS,
        )
        self._by_resource = registry.counter(
            "heliostat_requests_total",
            "Requests by what they are about; without an answer, the code is the error.",
            "verb",
            "resource",
            "code",
        )

    def resolved(self, host: str, seconds: float) -> None:
        self._resolving.observe(seconds, host)

    def exchanged(self, exchange: Exchange) -> None:
        self._by_resource.inc(exchange.verb, exchange.resource, exchange.outcome)
        if exchange.outcome == FencedError.__name__:
            return
        method, host = exchange.method, self._host
        if exchange.outcome == NO_TURN:
            self._wait.observe(exchange.waited, method, host)
            return
        code = exchange.outcome if exchange.outcome.isdecimal() else NO_ANSWER
        self._requests.inc(code, method, host)
        if exchange.is_retry:
            self._retries.inc(code, method, host)
        self._wait.observe(exchange.waited, method, host)
        if exchange.verb != "watch":
            self._measure(exchange, method, has_answer=code != NO_ANSWER)

    def _measure(self, exchange: Exchange, method: str, *, has_answer: bool) -> None:
        self._time.observe(exchange.seconds, method, self._host)
        self._sent.observe(exchange.sent_bytes, method, self._host)
        if has_answer:
            self._received.observe(exchange.received_bytes, method, self._host)
