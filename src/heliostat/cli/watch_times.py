"""Watches of another length than the usual one, in the usual proportions: shorter ones make tests short."""

from heliostat.runtime.watch import WatchSettings


def build_watch_settings(seconds: float) -> WatchSettings:
    usual = WatchSettings()
    share = seconds / usual.watch_seconds
    return WatchSettings(
        watch_seconds=seconds,
        silence_seconds=usual.silence_seconds * share,
        stuck_seconds=usual.stuck_seconds * share,
    )
