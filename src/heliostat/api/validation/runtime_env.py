"""Whether ``runtimeEnvYAML``, a YAML text inside the document, reads as a mapping. Only its first document counts."""

from heliostat.kube.document_error import DocumentError
from heliostat.kube.yaml_value import read_yaml_value

_SOURCE = "runtimeEnvYAML"


def runtime_env_trouble(text: str) -> str | None:
    """Why the text is no mapping; None when it is one, or empty."""
    try:
        tree = read_yaml_value(text, _SOURCE)
    except DocumentError as error:
        return f"error converting YAML to JSON: yaml: line {error.line}: {error.problem}"
    if tree is None or isinstance(tree, dict):
        return None
    return f"a mapping was expected, not {'a list' if isinstance(tree, list) else 'a single value'}"
