"""Answers of two servers made comparable: what is drawn by chance or by the clock becomes a word."""

import re
from typing import Any

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_RANDOM = re.compile(r"\b(kube-api-access|abc|A)-[a-z0-9]{5}\b")
_ADDRESS = re.compile(r"10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+")
_DRAWN_PORTS = 30086
_WRITTEN = ("renewTime", "eventTime", "lastObservedTime", "startedAt", "startTime", "firstTimestamp", "lastTimestamp")


def mask(tree: Any, path: str = "") -> Any:
    """A copy; causes are sorted, because kube-apiserver walks its maps in any order."""
    if isinstance(tree, dict):
        masked = {key: mask(value, f"{path}.{key}") for key, value in tree.items() if key != "managedFields"}
        causes = masked.get("causes")
        if isinstance(causes, list):
            masked["causes"] = sorted(causes, key=lambda cause: (cause.get("field", ""), cause["message"]))
        return masked
    if isinstance(tree, list):
        return [mask(item, path) for item in tree]
    if isinstance(tree, str):
        return _mask_text(tree, path)
    if isinstance(tree, int) and path.endswith("odePort") and tree >= _DRAWN_PORTS:
        return "PORT"
    return tree


def _mask_text(text: str, path: str) -> str:
    if path.endswith("resourceVersion"):
        return "VERSION"
    if not path.endswith(_WRITTEN):
        text = _TIME.sub("TIME", text)
    text = _RANDOM.sub(r"\1-RANDOM", _UID.sub("UID", text))
    if "clusterIP" in path and text not in ("10.96.0.10", "10.96.0.20", "10.96.0.21"):
        text = _ADDRESS.sub("ADDRESS", text)
    return text.partition("\n@@")[0]  # what follows shows a difference by the fields of inner types


def verdict(status: int, answer: Any) -> dict[str, Any]:
    """What is compared of an answer: of a refusal with several causes not their order."""
    masked = mask(answer)
    if status >= 400 and len((masked.get("details") or {}).get("causes") or ()) > 1:
        masked["message"] = masked["message"].partition(": [")[0]
    return {"status": status, "answer": masked}
