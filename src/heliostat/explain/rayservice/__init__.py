from heliostat.explain.rayservice.service import explain_service as explain

__all__ = ["explain"]
