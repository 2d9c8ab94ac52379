"""What a program tells whoever reads its log: writes that were refused, and, if asked for, every look."""

import io
import logging
from collections.abc import Iterator

import msgspec
import pytest

from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.errors import ApiError, ForbiddenError, InvalidError
from heliostat.runtime.logs import configure_logging
from heliostat.runtime.program import Program
from heliostat.testing.faults import Fault, Refuse
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, eventually, running, small_server
from runtime.test_host import Children, children, parent


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = before
    root.setLevel(level)


async def heard_of(refusal: int) -> list[tuple[str, Exception]]:
    """What is told when the first create of a child is answered like this."""
    heard: list[tuple[str, Exception]] = []
    async with small_server() as server:
        await server.client.create(CONFIG_MAP, parent(1))
        server.faults.add(Fault(Refuse(refusal), method="POST", path="configmaps"))
        program = Program(
            server.transport,
            instance="test",
            on_problem=lambda what, error: heard.append((what, error)),
            types=ResourceTypes((CONFIG_MAP,)),
        )
        program.host.add(Children(program.host.caches))
        async with running(program):
            await eventually(lambda: children(server) == 1)
    return heard


@pytest.mark.parametrize(("code", "kind"), [(403, ForbiddenError), (422, InvalidError)])
def test_a_refused_write_is_told_with_its_object(code: int, kind: type[ApiError]) -> None:
    (told,) = run_virtual(heard_of(code))
    assert told[0] == "children, default/parent"
    assert isinstance(told[1], kind)


@pytest.mark.parametrize("code", [404, 409, 429])
def test_everyday_life_is_not_told(code: int) -> None:
    assert run_virtual(heard_of(code)) == []


@pytest.mark.parametrize(("level", "is_shown"), [("debug", True), ("info", False)])
def test_every_look_is_a_line_for_who_asks_for_it(lines: io.StringIO, level: str, *, is_shown: bool) -> None:
    configure_logging(level, "json", stream=lines)
    run_virtual(heard_of(403))
    told = [msgspec.json.decode(line) for line in lines.getvalue().splitlines()]
    looks = [(line["controller"], line["key"], line["result"]) for line in told if line["msg"] == "looked"]
    assert (("children", "default/parent", "failed") in looks) is is_shown
    assert (looks == []) is not is_shown
