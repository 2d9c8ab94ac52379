"""One YAML value of any type, such as a text inside a document. Only the first document of the text counts."""

from typing import Any

from heliostat.kube.yaml_compose import Composer


def read_yaml_value(text: str, source: str) -> Any:
    """None for an empty text; raises ``heliostat.kube.document_error.DocumentError``."""
    return next(Composer(text, source).documents(), None)
