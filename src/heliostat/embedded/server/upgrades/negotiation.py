"""Which protocol an upgraded connection speaks, from what the client offers. Nothing is written here.

Rules, kube-apiserver's and the kubelet's: a request that is no upgrade is told so; a WebSocket may leave the
subprotocol open, SPDY may not; the newest way is taken wherever it is offered, and otherwise the first that is known.
Refusals are plain text, as there.
"""

from typing import Literal

from msgspec import Struct

from heliostat.embedded.refusals import PlainRefusedError, RefusedError, bad_request
from heliostat.embedded.server.messages import Request, WebSocket
from heliostat.embedded.server.upgrades.channels import ChannelForm

SPDY = "SPDY/3.1"
TUNNEL = "SPDY/3.1+portforward.k8s.io"
VERSION_HEADER = "X-Stream-Protocol-Version"
_WEBSOCKET_VERSION = "13"
_V5, _V4, _V4_TEXT = "v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"
_V3, _V2, _V1, _V1_TEXT = "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io", "base64.channel.k8s.io"

Kind = Literal["command", "forward"]

# Empty: none was asked for. The first one wins wherever it is offered; of the others, the client's first.
ON_WEBSOCKETS: dict[Kind, tuple[str, ...]] = {
    "command": (_V5, _V4, _V4_TEXT, _V1, _V1_TEXT, ""),
    "forward": (TUNNEL, _V4, _V4_TEXT, ""),
}
ON_SPDY: dict[Kind, tuple[str, ...]] = {
    "command": (_V4, _V3, _V2, _V1),
    "forward": ("portforward.k8s.io",),
}
_TELLS_STATUS = (_V5, _V4, _V4_TEXT)  # the others tell a sentence, and nothing when all is well
_TELLS_SIZE = (_V4, _V3)  # on SPDY, by a stream of its own; a WebSocket always has the channel


class Spoken(Struct, frozen=True, kw_only=True):
    protocol: str
    websocket: WebSocket | None = None  # None: SPDY on the connection itself

    @property
    def is_spdy(self) -> bool:
        return self.websocket is None or self.protocol == TUNNEL

    @property
    def form(self) -> ChannelForm:
        is_text = self.protocol in (_V4_TEXT, _V1_TEXT)
        return ChannelForm(is_text=is_text, can_close=self.protocol == _V5)

    @property
    def tells_status(self) -> bool:
        return self.protocol in _TELLS_STATUS

    @property
    def tells_size(self) -> bool:
        return self.protocol in _TELLS_SIZE

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        if self.websocket is not None:
            return ()
        return (("Connection", "Upgrade"), ("Upgrade", SPDY), (VERSION_HEADER, self.protocol))


def negotiate(request: Request, kind: Kind) -> Spoken:
    """Raises RefusedError."""
    if not is_upgrade(request):
        raise bad_request("Upgrade request required")
    if request.headers.get("upgrade", "").lower() == "websocket":
        return _negotiate_websocket(request, kind)
    if SPDY.lower() not in request.headers.get("upgrade", "").lower():
        raise _refuse(400, f"unable to upgrade: the request asks for neither WebSocket nor {SPDY}")
    return _negotiate_spdy(request, kind)


def is_upgrade(request: Request) -> bool:
    return "upgrade" in request.headers.get("connection", "").lower()


def _negotiate_websocket(request: Request, kind: Kind) -> Spoken:
    headers = request.headers
    if request.method != "GET":
        raise _refuse(405, "unable to upgrade: a WebSocket is opened with GET")
    if headers.get("sec-websocket-version") != _WEBSOCKET_VERSION or not headers.get("sec-websocket-key"):
        raise _refuse(400, f"unable to upgrade: Sec-WebSocket-Version {_WEBSOCKET_VERSION} and a key are required")
    offered = _split(headers.get("sec-websocket-protocol", "")) or [""]
    known = ON_WEBSOCKETS[kind]
    chosen = _choose(offered, known)
    if chosen is None:
        raise _refuse(403, f"unable to upgrade: {_differ(offered, [name for name in known if name])}")
    return Spoken(protocol=chosen, websocket=WebSocket(chosen, is_text=chosen in (_V4_TEXT, _V1_TEXT)))


def _negotiate_spdy(request: Request, kind: Kind) -> Spoken:
    offered = _split(request.headers.get(VERSION_HEADER.lower(), ""))
    if not offered:
        raise _refuse(400, f"unable to upgrade: {VERSION_HEADER} is required")
    chosen = next((name for name in offered if name in ON_SPDY[kind]), None)
    if chosen is None:
        raise _refuse(403, f"unable to upgrade: {_differ(offered, ON_SPDY[kind])}")
    return Spoken(protocol=chosen)


def _choose(offered: list[str], known: tuple[str, ...]) -> str | None:
    if known[0] in offered:
        return known[0]
    return next((name for name in offered if name in known), None)


def _split(values: str) -> list[str]:
    return [value for part in values.split(",") if (value := part.strip())]


def _differ(offered: list[str], accepted: list[str] | tuple[str, ...]) -> str:
    return f"unable to negotiate protocol: client supports [{' '.join(offered)}], server accepts [{' '.join(accepted)}]"


def _refuse(code: int, message: str) -> RefusedError:
    return PlainRefusedError(code, "", message)
