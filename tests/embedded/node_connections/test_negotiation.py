"""Which protocol is spoken, by what was offered; and what is refused, before any node hears of it."""

import pytest

from heliostat.embedded.access.users import User
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.upgrades.negotiation import TUNNEL, Kind, negotiate

V5, V4, V4_TEXT = "v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"
V1, V1_TEXT = "channel.k8s.io", "base64.channel.k8s.io"
FORWARD = "portforward.k8s.io"


def websocket(offered: str | None, method: str = "GET", **more: str) -> Request:
    headers = {"connection": "keep-alive, Upgrade", "upgrade": "WebSocket"}
    headers |= {"sec-websocket-version": "13", "sec-websocket-key": "k"}
    if offered is not None:
        headers["sec-websocket-protocol"] = offered
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    return Request(method=method, path="/", user=User("u"), headers=headers)


def spdy(offered: str | None, upgrade: str = "SPDY/3.1") -> Request:
    headers = {"connection": "Upgrade", "upgrade": upgrade}
    if offered is not None:
        headers["x-stream-protocol-version"] = offered
    return Request(method="POST", path="/", user=User("u"), headers=headers)


@pytest.mark.parametrize(
    ("kind", "offered", "chosen"),
    [
        ("command", f"{V5}, {V4}", V5),
        ("command", f"{V4},{V5}", V5),
        ("command", V4, V4),
        ("command", f"unknown, {V4_TEXT}, {V4}", V4_TEXT),
        ("command", V1, V1),
        ("command", V1_TEXT, V1_TEXT),
        ("command", None, ""),
        ("forward", f"{V4}, {TUNNEL}", TUNNEL),
        ("forward", f"{V5},{V4}", V4),
        ("forward", V4_TEXT, V4_TEXT),
        ("forward", None, ""),
    ],
)
def test_a_websocket_speaks_the_newest_that_both_know(kind: Kind, offered: str | None, chosen: str) -> None:
    spoken = negotiate(websocket(offered), kind)
    assert spoken.websocket is not None
    assert (spoken.protocol, spoken.websocket.subprotocol) == (chosen, chosen)
    assert spoken.websocket.is_text is ("base64" in chosen)
    assert spoken.is_spdy is (chosen == TUNNEL)
    assert spoken.tells_status is (chosen in (V5, V4, V4_TEXT))
    assert spoken.headers == ()


@pytest.mark.parametrize(
    ("kind", "offered", "chosen", "tells_size"),
    [
        ("command", f"{V5}, {V4}, v3.channel.k8s.io", V4, True),
        ("command", "v3.channel.k8s.io, v2.channel.k8s.io", "v3.channel.k8s.io", True),
        ("command", "v2.channel.k8s.io", "v2.channel.k8s.io", False),
        ("command", V1, V1, False),
        ("forward", FORWARD, FORWARD, False),
    ],
)
def test_spdy_speaks_the_first_that_both_know(kind: Kind, offered: str, chosen: str, tells_size: bool) -> None:
    spoken = negotiate(spdy(offered), kind)
    assert (spoken.protocol, spoken.websocket, spoken.is_spdy, spoken.tells_size) == (chosen, None, True, tells_size)
    assert dict(spoken.headers) == {
        "Connection": "Upgrade",
        "Upgrade": "SPDY/3.1",
        "X-Stream-Protocol-Version": chosen,
    }


PLAIN = Request(method="GET", path="/", user=User("u"), headers={"upgrade": "websocket"})


@pytest.mark.parametrize(
    ("request_", "kind", "code", "words"),
    [
        (PLAIN, "command", 400, "Upgrade request required"),
        (websocket("v9.channel.k8s.io"), "command", 403, f"client supports [v9.channel.k8s.io], server accepts [{V5} "),
        (websocket(V5), "forward", 403, f"server accepts [{TUNNEL} {V4} {V4_TEXT}]"),
        (websocket(TUNNEL), "command", 403, "unable to negotiate protocol"),
        (websocket(V5, method="POST"), "command", 405, "opened with GET"),
        (websocket(V5, sec_websocket_version="8"), "command", 400, "Sec-WebSocket-Version 13"),
        (websocket(V5, sec_websocket_key=""), "command", 400, "a key"),
        (spdy(None), "command", 400, "X-Stream-Protocol-Version is required"),
        (spdy(" , "), "command", 400, "X-Stream-Protocol-Version is required"),
        (spdy(FORWARD), "command", 403, "client supports [portforward.k8s.io]"),
        (spdy(V4), "forward", 403, "server accepts [portforward.k8s.io]"),
        (spdy(V4, upgrade="h2c"), "command", 400, "neither WebSocket nor SPDY/3.1"),
    ],
)
def test_what_nobody_could_speak_is_refused(request_: Request, kind: Kind, code: int, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        negotiate(request_, kind)
    assert refused.value.code == code
    assert words in refused.value.message
