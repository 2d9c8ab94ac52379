"""Why an object of one kind cannot be taken for another, as a server with typed conversions says it."""

from heliostat.kube.core_schema import find_kind


def why_not_convertible(kind: object, api_version: object, wanted: str) -> str:
    """``wanted``: the kind that is asked for, with the package that holds it inside, such as ``core.Binding``."""
    if isinstance(kind, str) and isinstance(api_version, str) and find_kind(api_version, kind) is not None:
        version = api_version.rpartition("/")[2]
        return f"converting ({version}.{kind}) to ({wanted}): unknown conversion"
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:110"'
