"""A client-side rate limit (QPS and burst), beside what the server itself can bear (``limiter``).

A request is given its moment when it asks for it: the n-th of a burst at once, each later one ``1 / qps`` after the one
before. Nothing is drawn and nothing runs; who asks waits by itself.
"""


class Rate:
    def __init__(self, qps: float, burst: int) -> None:
        """``qps`` is more than 0."""
        self._step = 1 / qps
        self._slack = (max(burst, 1) - 1) / qps
        self._next = float("-inf")  # the moment of the next request, were there no burst

    def reserve(self, now: float) -> float:
        """Take the next moment; returns the seconds until then."""
        moment = max(self._next, now - self._slack)
        self._next = moment + self._step
        return max(0.0, moment - now)
