from heliostat.explain.raycronjob.cron import explain_cron as explain

__all__ = ["explain"]
