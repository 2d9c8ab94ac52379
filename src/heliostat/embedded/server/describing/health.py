"""Is the server alive, is it ready: ``/healthz``, ``/livez``, ``/readyz`` and each of their checks by its own path.

Rules: a check says nothing when all is well and otherwise what is wrong; the answer withholds the reason, because
anybody may ask; ``?verbose`` lists the checks, ``?exclude=NAME`` leaves one out.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from heliostat.embedded.server.messages import Request, Response
from heliostat.kube.go_text import go_quote

Check: TypeAlias = Callable[[], str]  # what is wrong; empty: nothing

ENDPOINTS = ("healthz", "livez", "readyz")
TEXT = "text/plain; charset=utf-8"


def answer_health(request: Request, checks: Mapping[str, Check]) -> Response | None:
    """None for a path that is no health endpoint or names no check."""
    endpoint, slash, name = request.path.removeprefix("/").partition("/")
    if endpoint not in ENDPOINTS or (slash and name not in checks):
        return None
    return _answer_one(checks[name]) if slash else _answer_all(endpoint, request, checks)


def health_paths(checks: Mapping[str, Check]) -> list[str]:
    return [path for endpoint in ENDPOINTS for path in (f"/{endpoint}", *(f"/{endpoint}/{name}" for name in checks))]


def _answer_one(check: Check) -> Response:
    if check():
        return Response(500, b"internal server error: reason withheld\n", TEXT)
    return Response(200, b"ok", TEXT)


def _answer_all(endpoint: str, request: Request, checks: Mapping[str, Check]) -> Response:
    excluded = request.query.get("exclude", [])
    lines: list[str] = []
    is_well = True
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif check():
            is_well = False
            lines.append(f"[-]{name} failed: reason withheld")
        else:
            lines.append(f"[+]{name} ok")
    if is_well and "verbose" not in request.query:
        return Response(200, b"ok", TEXT)
    unknown = [go_quote(name) for name in sorted(set(excluded) - set(checks))]
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
    lines.append(f"{endpoint} check {'passed' if is_well else 'failed'}")
    return Response(200 if is_well else 500, ("\n".join(lines) + "\n").encode(), TEXT)
