from heliostat.explain.raycluster.cluster import explain_cluster as explain

__all__ = ["explain"]
