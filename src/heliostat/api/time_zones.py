"""Time zones by their IANA names, as values that pure code calculates with."""

from datetime import UTC, tzinfo


def find_time_zone(name: str | None) -> tzinfo | None:
    """None: there is no such zone. Without a name it is UTC (differs from KubeRay: cron-zone)."""
    if name is None:
        return UTC
    import zoneinfo  # noqa: PLC0415 - it reads files and is needed for RayCronJobs only

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None
