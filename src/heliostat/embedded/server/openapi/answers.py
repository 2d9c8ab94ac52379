"""OpenAPI over HTTP: the index and documents of version 3, the one document of version 2.

Rules: a document is built when somebody asks for it and kept compressed until the set of resources changes; it goes
out with an ETag, and under its hash for a year; an outdated hash leads on to the current one.
"""

import asyncio
import zlib
from collections.abc import Mapping, Sequence

from heliostat.embedded.server.describing.discovery import Group
from heliostat.embedded.server.describing.health import TEXT
from heliostat.embedded.server.front.negotiation import accepts
from heliostat.embedded.server.messages import JSON, Request, Response
from heliostat.embedded.server.openapi import v2 as openapi_v2
from heliostat.embedded.server.openapi import v3 as openapi_v3
from heliostat.embedded.server.openapi.protobuf import PROTOBUF, PROTOBUF_ALIASES, encode_document
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import encode_json

V2, V3 = "/openapi/v2", "/openapi/v3"
_FOR_A_YEAR = "public, immutable, max-age=31536000"


class OpenApi:
    """What can be asked of one set of resources; another set is another one of these."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self._parts = {
            f"{V3}/{openapi_v3.document_path(group.name, version)}": resources
            for group in groups.values()
            for version, resources in group.versions.items()
        }
        self._groups = groups
        self._kept: dict[str, bytes] = {}
        self._hashes: dict[str, str] = {}

    async def answer(self, request: Request) -> Response | None:
        """None for a path that is not about OpenAPI."""
        path = request.path
        if path == V3:
            return Response(200, self._index())
        if path == V2:
            return await self._answer_v2(request)
        if path in self._parts:
            return self._answer_v3(request)
        return Response(404, b"", TEXT) if path.startswith(f"{V3}/") else None

    def _index(self) -> bytes:
        kept = self._find(V3)
        return kept if kept is not None else self._keep(V3, encode_json(openapi_v3.build_index(self._groups.values())))

    def _answer_v3(self, request: Request) -> Response:
        path, wanted = request.path, request.parameter("hash")
        tag = self._hash(path, self._parts[path])
        if wanted and wanted != tag:
            return Response(301, b"", JSON, headers=(("Location", f"{path}?hash={tag}"),))
        if not accepts(request, JSON):
            return Response(406, b"", TEXT)
        if is_known(request, tag):
            return not_modified(tag, JSON)
        body = self._find(path)
        if body is None:
            body = self._keep(path, encode_json(openapi_v3.build_document(self._parts[path])))
        return tagged(body, JSON, tag, _FOR_A_YEAR if wanted else "no-cache, private")

    async def _answer_v2(self, request: Request) -> Response:
        """kubectl asks for protobuf here and for nothing else."""
        if not any(accepts(request, media) for media in (JSON, PROTOBUF, *PROTOBUF_ALIASES)):
            return Response(406, b"", TEXT)
        media = JSON if accepts(request, JSON) else PROTOBUF
        tag = self._hash(V2, self._every())
        if is_known(request, tag):
            return not_modified(tag, media)
        body = self._find(f"{V2} {media}")
        if body is None:
            body = self._keep(f"{V2} {media}", await self._build_v2(media))
        return tagged(body, media, tag, "no-cache, private")

    async def _build_v2(self, media: str) -> bytes:
        """It is large: others have their turn between its parts. Protobuf parts, one after another, are a whole."""
        document = openapi_v2.build_document(())
        encoded = [encode_document(document)]
        for resource in self._every():
            part = openapi_v2.build_document((resource,), known=document["definitions"])
            if media == PROTOBUF:
                encoded.append(encode_document(part))
            document["paths"] |= part["paths"]
            document["definitions"] |= part["definitions"]
            await asyncio.sleep(0)
        return b"".join(encoded) if media == PROTOBUF else encode_json(document)

    def _every(self) -> list[Resource]:
        return [resource for resources in self._parts.values() for resource in resources]

    def _hash(self, name: str, resources: Sequence[Resource]) -> str:
        if name not in self._hashes:
            self._hashes[name] = openapi_v3.document_hash(resources)
        return self._hashes[name]

    def _find(self, name: str) -> bytes | None:
        kept = self._kept.get(name)
        return zlib.decompress(kept) if kept is not None else None

    def _keep(self, name: str, body: bytes) -> bytes:
        self._kept[name] = zlib.compress(body, 1)
        return body


def is_known(request: Request, tag: str) -> bool:
    """The client has this very version."""
    return f'"{tag}"' in request.headers.get("if-none-match", "")


def not_modified(tag: str, media: str) -> Response:
    """Under the media type of what the client has: it takes the headers of this answer for those of the old one."""
    return Response(304, b"", media, headers=(("ETag", f'"{tag}"'), ("Vary", "Accept")))


def tagged(body: bytes, media: str, tag: str, caching: str) -> Response:
    headers = (("ETag", f'"{tag}"'), ("Vary", "Accept"), ("Cache-Control", caching))
    return Response(200, body, media, headers=headers)
