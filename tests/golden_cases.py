"""Where the recorded KubeRay cases are, and under which settings each folder was recorded.

A case is ``NAME.input.yaml`` beside ``NAME.expected.json``. The folder is ``$HELIOSTAT_GOLDENS`` or ``shared/goldens``
beside the repository; it is no part of the repository, so a test asks ``absence()`` and skips with that reason.
"""

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.api.settings import Settings, default_gates

ALPHA_GATES_ON = (
    "RayCronJob",
    "RayClusterNetworkPolicy",
    "GCSFaultToleranceEmbeddedStorage",
    "RayClusterMTLS",
    "RayClusterHistoryServer",
)
SETTINGS_OF_FOLDER: dict[str, Settings] = {
    "samples": Settings(),
    "fuzz": Settings(),
    "gates": Settings(gates=default_gates() | dict.fromkeys(ALPHA_GATES_ON, True)),
    "scheduler-kai-scheduler": Settings(batch_scheduler="kai-scheduler"),
    "scheduler-scheduler-plugins": Settings(batch_scheduler="scheduler-plugins"),
    "scheduler-volcano": Settings(batch_scheduler="volcano"),
    "scheduler-yunikorn": Settings(batch_scheduler="yunikorn"),
}
CASE_COUNT = 489


class GoldenCase(Struct, frozen=True):
    """One recorded input. ``str()`` is the test id, such as ``fuzz/vc001``."""

    name: str
    folder: str
    input: Path
    expected_path: Path
    settings: Settings

    @property
    def expected(self) -> dict[str, Any]:
        recorded: dict[str, Any] = msgspec.json.decode(self.expected_path.read_bytes())
        return recorded

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


def goldens_folder() -> Path:
    named = os.environ.get("HELIOSTAT_GOLDENS")
    repository = Path(__file__).resolve().parents[1]
    return Path(named) if named else repository.parent / "shared" / "goldens"


@cache
def load_compare() -> Any:
    """The judge that comes with the recordings."""
    spec = importlib.util.spec_from_file_location("golden_compare", goldens_folder() / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def absence() -> str | None:
    """Why there are no cases to run, or None when there are."""
    if goldens_folder().is_dir():
        return None
    return f"no goldens at {goldens_folder()}: set HELIOSTAT_GOLDENS to the folder with KubeRay's recorded cases"


def cases() -> list[GoldenCase]:
    """Every case (not the flows), in a stable order; empty when the folder is absent."""
    return [case for folder in SETTINGS_OF_FOLDER for case in cases_of(folder)]


def cases_of(folder: str) -> list[GoldenCase]:
    suffix = ".input.yaml"
    return [
        GoldenCase(
            name=path.name.removesuffix(suffix),
            folder=folder,
            input=path,
            expected_path=path.with_name(path.name.removesuffix(suffix) + ".expected.json"),
            settings=SETTINGS_OF_FOLDER[folder],
        )
        for path in sorted((goldens_folder() / folder).glob(f"*{suffix}"))
    ]
