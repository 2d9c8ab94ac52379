"""The model is pure: it can be run by a simulator, replayed and reasoned about."""

import ast
from pathlib import Path

import pytest

from heliostat.embedded import storage

PURE_MODULES = ["errors", "keys", "path_order", "records", "retention", "revisions", "table"]
ALLOWED_OUTSIDE = {"bisect", "collections", "collections.abc", "itertools", "msgspec", "operator", "typing"}


def imported(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("name", PURE_MODULES)
def test_a_pure_module_imports_only_pure_ones(name: str) -> None:
    module = Path(storage.__path__[0]) / f"{name}.py"
    pure = {f"{storage.__name__}.{other}" for other in PURE_MODULES}
    assert imported(module) <= pure | ALLOWED_OUTSIDE


@pytest.mark.parametrize("module", sorted(Path(storage.__path__[0]).glob("*.py")), ids=lambda path: path.stem)
def test_no_module_reads_a_clock_draws_lots_or_knows_of_ray(module: Path) -> None:
    forbidden = {"time", "datetime", "random", "secrets", "uuid"}
    outside = {name for name in imported(module) if name.startswith("heliostat")}
    assert not imported(module) & forbidden
    assert all(name.startswith(("heliostat.embedded", "heliostat.kube")) for name in outside)
