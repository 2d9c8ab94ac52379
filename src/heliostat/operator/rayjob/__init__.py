from heliostat.operator.rayjob.reconciler import add_controller

__all__ = ["add_controller"]
