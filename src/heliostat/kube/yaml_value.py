"""One YAML value of any type, such as a text inside a document. Only the first document of the text counts."""

from typing import Any


def read_yaml_value(text: str, source: str) -> Any:
    """None for an empty text; raises ``heliostat.kube.document_error.DocumentError``."""
    from heliostat.kube.yaml_compose import Composer  # noqa: PLC0415  who meets no such text is 1 MB smaller

    return next(Composer(text, source).documents(), None)
