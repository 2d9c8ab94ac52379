"""One finding about a document: where, what, and how to fix it."""

from typing import Literal

from msgspec import Struct

from heliostat.kube.paths import Path, format_path


class Problem(Struct, frozen=True, kw_only=True):
    path: Path
    problem: str
    fix: str
    rule: str = ""  # such as V-S6 or schema.type
    reason: str = ""  # the event reason KubeRay would report it under; empty for schema findings
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.problem}"
