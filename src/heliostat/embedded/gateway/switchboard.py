"""Who answers a request: its rule, the back end whose turn it is, and one of the Pods behind that.

What is kept between requests is kept here: turns of rules and of Services, and connections.
"""

import re
from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from heliostat.embedded.gateway.directory import Directory
from heliostat.embedded.gateway.routing import Asked, Backend, PortTable, Rule, Tables
from heliostat.embedded.gateway.telemetry import Telemetry
from heliostat.embedded.gateway.upstreams import Target, Upstreams
from heliostat.embedded.gateway.weights import Turns
from heliostat.embedded.http1.heads import NoHttpError, RequestHead
from heliostat.kube.objects import Key

MOST_ATTEMPTS = 4
NO_ROUTE = Key("", "")
_ABSOLUTE = re.compile(r"https?://([^/?]*)(.*)", re.IGNORECASE)


class Chosen(Struct, frozen=True):
    route: Key
    target: Target | None = None
    status: int = 0  # when nobody can answer
    problem: str = ""


class Switchboard:
    def __init__(self, directory: Directory, upstreams: Upstreams, telemetry: Telemetry) -> None:
        self.upstreams = upstreams
        self.telemetry = telemetry
        self._directory = directory
        self._turns: dict[tuple[Key, int], Turns] = {}
        self._rounds: Counter[tuple[str, str, int]] = Counter()
        self._backends: tuple[Backend, ...] = ()

    def use(self, tables: Tables) -> None:
        """From now on. Turns of rules that are gone are forgotten."""
        rules = {
            (entry.rule.route, entry.rule.number): entry.rule
            for ports in tables.values()
            for table in ports.values()
            for listener in table.listeners
            for entry in listener.entries
        }
        self._turns = {place: self._turns.get(place) or Turns() for place in rules}
        used = {each for rule in rules.values() for each in rule.backends if each.weight and each.port is not None}
        self._backends = tuple(used)
        self.tidy()

    def tidy(self) -> None:
        """Let go of connections to Pods that nothing leads to any more; now, or when they are through."""
        self.upstreams.keep_only({target for backend in self._backends for target in self._targets(backend)})

    def choose(self, table: PortTable, asked: Asked, tried: Collection[Target] = ()) -> Chosen:
        """``tried`` did not answer, and get another try only when there is nobody else."""
        rule = table.find(asked)
        if rule is None:
            return Chosen(NO_ROUTE, status=404, problem="no HTTPRoute matches this request")
        place = self._next_turn(rule)
        if place is None:
            return Chosen(rule.route, status=500, problem="no back end of this rule has a weight")
        backend = rule.backends[place]
        self.telemetry.backends.inc(backend.namespace, backend.name)
        if backend.port is None:
            return Chosen(rule.route, status=500, problem=backend.message)
        targets = self._targets(backend)
        if not targets:
            words = f"no Pod of Service {backend.namespace}/{backend.name} is ready"
            return Chosen(rule.route, status=503, problem=words)
        return Chosen(rule.route, _choose(targets, self._next_round(backend), tried))

    def _next_turn(self, rule: Rule) -> int | None:
        """Also of a rule that is forgotten here and still stands in the table of a listener that is about to go."""
        turns = self._turns.get((rule.route, rule.number)) or self._turns.setdefault((rule.route, rule.number), Turns())
        return turns.choose(tuple([each.weight for each in rule.backends]))

    def _next_round(self, backend: Backend) -> int:
        place = (backend.namespace, backend.name, backend.port.port if backend.port is not None else 0)
        self._rounds[place] += 1
        return self._rounds[place]

    def _targets(self, backend: Backend) -> list[Target]:
        if backend.port is None:
            return []
        return self._directory.targets(backend.namespace, backend.name, backend.port)


def _choose(targets: list[Target], turn: int, tried: Collection[Target]) -> Target:
    others = [target for target in targets if target not in tried] if tried else targets
    return others[turn % len(others)] if others else targets[turn % len(targets)]


def address(head: RequestHead) -> RequestHead:
    """As servers are asked: a target as proxies are sent names the host itself, and then that one counts."""
    absolute = _ABSOLUTE.fullmatch(head.target)
    if absolute is None:
        return head
    host, rest = absolute.groups()
    headers = (("Host", host), *((name, value) for name, value in head.headers if name.lower() != "host"))
    return RequestHead(head.method, rest if rest.startswith("/") else f"/{rest}", head.minor, headers)


def read_asked(head: RequestHead) -> Asked:
    """Raises NoHttpError for a request that does not say whom it is for."""
    target, host = head.target, head.get("host")
    if head.method == "CONNECT" or (not target.startswith("/") and target != "*"):
        raise NoHttpError(f"a target that is none: {target[:100]!r}")
    if (not host and head.minor >= 1) or "," in host:
        raise NoHttpError("a request names one Host")
    path, _, query = target.partition("?")
    return Asked(head.method, _without_port(host), path, query, head.headers)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and (port.isdecimal() or not port) else host).lower()
