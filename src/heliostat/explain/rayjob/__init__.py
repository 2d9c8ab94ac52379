from heliostat.explain.rayjob.job import explain_job as explain

__all__ = ["explain"]
