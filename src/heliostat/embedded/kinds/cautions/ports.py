"""Ports of all the containers of a Pod, which share one network: the same port twice, the same name twice."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

_MOST_ALIKE = 100  # equal ports that another is compared with; nobody is told of as many

_Placed: TypeAlias = tuple[JsonObject, str]  # a port and where it stands


def port_cautions(lists: Iterable[tuple[list[JsonObject], str]]) -> Iterator[str]:
    """``lists``: the ports of each container with their path."""
    placed = [(port, f"{path}[{index}]") for ports, path in lists for index, port in enumerate(ports)]
    yield from _number_cautions(placed)
    yield from _name_cautions(placed)


def _number_cautions(placed: list[_Placed]) -> Iterator[str]:
    known: dict[tuple[Any, Any], list[_Placed]] = {}
    for port, path in placed:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {_go_struct(port)}"
        others = known.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for other, there in others:
            if problem := _clash(port, other):
                yield f"{path}: {problem} port definition with {there}"
        if len(others) < _MOST_ALIKE:
            others.append((port, path))


def _clash(port: JsonObject, other: JsonObject) -> str:
    ip, number = port.get("hostIP", ""), port.get("hostPort", 0)
    other_ip, other_number = other.get("hostIP", ""), other.get("hostPort", 0)
    if (ip, number) == (other_ip, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    return "dangerously ambiguous" if number == other_number and bool(ip) != bool(other_ip) else ""


def _go_struct(port: JsonObject) -> str:
    fields = (
        ("Name", port.get("name", "")),
        ("HostPort", port.get("hostPort", 0)),
        ("ContainerPort", port.get("containerPort", 0)),
        ("Protocol", port.get("protocol", "")),
        ("HostIP", port.get("hostIP", "")),
    )
    return "{" + " ".join(f"{name}:{value}" for name, value in fields) + "}"


def _name_cautions(placed: list[_Placed]) -> Iterator[str]:
    first: dict[str, str] = {}
    for port, path in placed:
        name = port.get("name")
        if not name:
            continue
        there = first.setdefault(name, path)
        if there != path:
            yield (
                f"{path}: duplicate port name {go_quote(name)} with {there}, services and probes that select ports by"
                f" name will use {there}"
            )
