"""Which patches a kind takes. Custom resources have no merge keys, so they take no strategic merge patch (415)."""

from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.patches.errors import UnservedMediaTypeError

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

BUILT_IN_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def read_patch_type(content_type: str, accepted: tuple[str, ...]) -> str:
    """The patch type of a ``Content-Type`` header; its parameters (``; charset=``) do not count."""
    patch_type = content_type.partition(";")[0].strip()
    if patch_type in accepted:
        return patch_type
    if accepted == BUILT_IN_PATCHES:
        raise UnservedMediaTypeError
    raise RefusedError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}",
    )
