"""The two kinds of v1 that have better successors: whoever asks for them is told so, whatever the answer is."""

from collections.abc import Awaitable

import msgspec

from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.messages import Answer, Response
from heliostat.embedded.server.resources import Resource

DEPRECATED = {
    ("v1", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
    ("v1", "Endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


async def tell_deprecation(answering: Awaitable[Answer], resource: Resource) -> Answer:
    told = DEPRECATED.get((resource.api_version, resource.kind))
    if told is None:
        return await answering
    try:
        answer = await answering
    except RefusedError as refused:
        refused.warnings = (told, *refused.warnings)
        raise
    if isinstance(answer, Response):
        return msgspec.structs.replace(answer, warnings=(told, *answer.warnings))
    return answer
