"""Texts that are numbers, wherever a person or a program writes them: bounded, and never an error of Python's own."""

import msgspec
import pytest

from heliostat.embedded.controllers.nodes.conduct import ANNOTATION, ConductError, read_conduct
from heliostat.embedded.gateway.fronts import HOST_PORT, read_host_wish
from heliostat.embedded.gateway.objects import Gateway
from heliostat.embedded.node.pods import Container
from heliostat.embedded.node.probing.http_get import UnknownPortError, resolve_port
from heliostat.kube.counts import read_whole
from heliostat.runtime.errors import ThrottledError, error_of

GIANT = "9" * 10_000
ODD = (GIANT, f"-{GIANT}", "٣", "²", "", "1_0")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("-0", 0),
        ("--7", None),
        ("+-7", None),
        ("-", None),
        *((odd, None) for odd in ODD),
    ],
)
def test_a_whole_number_may_have_one_sign(text: str, number: int | None) -> None:
    assert read_whole(text) == number


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_number_is_refused_by_who_reads_it(text: str) -> None:
    for words in (f"exit-code={text}", f"start-after={text}s"):
        with pytest.raises(ConductError):
            read_conduct({ANNOTATION: words})
    with pytest.raises(UnknownPortError):
        resolve_port(text, Container(name="c", image="i"))
    gateway = msgspec.convert({"metadata": {"name": "g", "annotations": {HOST_PORT: text}}}, Gateway)
    assert "is no port" in read_host_wish(gateway).problem
    told = error_of(429, b"{}", retry_after=text)
    assert isinstance(told, ThrottledError)
    assert told.retry_after < 60
