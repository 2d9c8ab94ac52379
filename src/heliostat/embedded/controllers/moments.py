"""Times as the texts of the API say them; a text that says none is no time, never an error."""

from heliostat.kube.timestamps import TimestampError, parse_timestamp


def moment_of(text: str | None) -> float | None:
    """Epoch seconds, or None when the text is missing or not a time."""
    try:
        return parse_timestamp(text) if text else None
    except TimestampError:
        return None
