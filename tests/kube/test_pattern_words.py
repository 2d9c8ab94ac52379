"""Instead of a regular expression: how to write what was meant."""

import json
import re

import pytest

from heliostat.api.crds import all_crds
from heliostat.kube.pattern_words import QUANTITY, advise_quantity, describe_form


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("2GB", "write 2G or 2Gi"),
        ("2 Gi", "write 2Gi"),
        ("2 GB", "write 2G or 2Gi"),
        ("0,5", "write 0.5"),
        ("1_Gi", "write 1Gi"),
        ("4GiB", "write 4Gi"),
        ("16 gigabytes", "write a number with a suffix if it needs one, such as 2, 500m, 4G (1000^3) or 4Gi (1024^3)"),
        ("lots", "write a number with a suffix if it needs one, such as 2, 500m, 4G (1000^3) or 4Gi (1024^3)"),
        ("", "write a number with a suffix if it needs one, such as 2, 500m, 4G (1000^3) or 4Gi (1024^3)"),
    ],
)
def test_a_quantity_that_is_none_is_answered_with_one(text: str, advice: str) -> None:
    assert advise_quantity(text) == advice
    assert all(re.match(QUANTITY, word) for word in advice.split()[1:] if advice.count(" ") < 4 and word != "or")


def test_every_pattern_of_the_ray_kinds_has_words() -> None:
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\\\]|\\\\.)*")', json.dumps(list(all_crds(slim=False)))))
    assert len(patterns) >= 3
    for pattern in map(json.loads, patterns):
        assert "must match" not in describe_form(pattern, "?!")


def test_a_pattern_that_nobody_knows_is_shown() -> None:
    assert describe_form("^a+$", "b") == "it must match ^a+$"
