"""The API as a test speaks to it: with the administrator's certificate, one request after the other."""

import http.client
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from heliostat.kube.documents import read_documents
from testing.test_apiserver import client_context

_SECONDS = 60.0


class HttpApi:
    def __init__(self, kubeconfig: Path) -> None:
        tree = read_documents(kubeconfig.read_bytes())[0].tree
        address = urlsplit(tree["clusters"][0]["cluster"]["server"])
        context = client_context(kubeconfig)
        self._connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, context=context, timeout=_SECONDS
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def list(self, path: str) -> list[Any]:
        items: list[Any] = self.get(path)["items"]
        return items

    def post(self, path: str, tree: dict[str, Any]) -> Any:
        return self._ask("POST", path, tree)

    def patch(self, path: str, changes: dict[str, Any]) -> Any:
        return self._ask("PATCH", path, changes, "application/merge-patch+json")

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path)

    def _ask(
        self, method: str, path: str, tree: dict[str, Any] | None = None, content_type: str = "application/json"
    ) -> Any:
        body = json.dumps(tree) if tree is not None else None
        self._connection.request(method, path, body, {"Content-Type": content_type})
        with self._connection.getresponse() as answer:
            found = json.load(answer)
        assert answer.status < 300, found
        return found
