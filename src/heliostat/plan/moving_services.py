"""A Service that goes on to another cluster: its selector moves, and with it whatever an edit has asked for since.

What RayJob and RayService have alike (KubeRay: rayjob.md §9, rayservice.md §9 rule 1).
"""

from heliostat.api.markers import JsonObject

_ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def changes_of_move(there: JsonObject, wanted: JsonObject) -> JsonObject:
    """From one spec of a Service to the other. An edit is taken up with a move, and not before.

    An address stays, and with it what only another address could have: a Service without one stays a ClusterIP.
    """
    asked = {key: value for key, value in wanted.items() if key not in ("selector", "ports", *_ADDRESSES)}
    shown = {"type": "ClusterIP", **there}
    asked["type"] = shown["type"] if there.get("clusterIP") == "None" else asked.get("type") or "ClusterIP"
    changes = {key: value for key, value in asked.items() if shown.get(key) != value}
    ports: list[JsonObject] = wanted.get("ports") or []
    chosen = {port.get("name") for port in ports if port.get("nodePort")}
    if _meant(there.get("ports"), chosen) != _meant(ports, chosen):
        changes["ports"] = ports
    return {"selector": wanted["selector"], **changes}


def _meant(ports: list[JsonObject] | None, chosen: set[str | None]) -> list[JsonObject]:
    """With what a server fills in. A node's port is the server's choice, unless the spec has chosen it."""
    filled = [{"protocol": "TCP", "targetPort": port["port"], **port} for port in ports or ()]
    return sorted(
        (
            {key: value for key, value in port.items() if key != "nodePort" or port.get("name") in chosen}
            for port in filled
        ),
        key=lambda port: (str(port.get("name") or ""), port["port"]),
    )
