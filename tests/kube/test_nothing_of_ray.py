"""``kube`` and ``runtime`` know Kubernetes alone: they name no kind, label or group of ray.io."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "heliostat"
OURS = re.compile(r"ray\.io|\bRay(Cluster|Job|Service|CronJob)s?\b")


@pytest.mark.parametrize("package", ["kube", "runtime"])
def test_it_names_nothing_of_ray(package: str) -> None:
    named = {
        f"{path.relative_to(SOURCE)}: {found.group()}"
        for path in (SOURCE / package).rglob("*.py")
        for found in OURS.finditer(path.read_text())
    }
    assert named == set()
